//! Findings about this machine, with remedies.

use std::fs;
use std::time::{Duration, Instant};

use netdyno_lab_arena::{Arena, ArenaError, ArenaSpec, Topology};
use netdyno_lab_engine::build::{Availability, Builder};
use netdyno_lab_manifest::{Catalog, Link, Net};
use netdyno_lab_store::{Host, Store};

/// Receive buffer size that holds a batch of 64 large datagrams. The usual default of 212,992 bytes holds about 90
/// small ones.
const RECEIVE_BUFFER_BYTES: u64 = 4 << 20;
/// Share of CPU time lost to other programs above which figures drift visibly.
const LOST_SHARE: f64 = 0.01;
const STEAL_PERCENT: f64 = 1.0;
const FREE_BYTES: u64 = 5 << 30;
const NOISE_TIME: Duration = Duration::from_millis(500);
/// Least gap between two clock readings that is an interruption.
const GAP: Duration = Duration::from_micros(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grade {
    /// No problem.
    Good,
    /// Measurements are possible, but less accurate.
    Warning,
    /// Something is impossible here.
    Bad,
}

#[derive(Debug, Clone)]
pub(crate) struct MachineFinding {
    pub(crate) grade: Grade,
    /// The checked property.
    pub(crate) what: String,
    pub(crate) found: String,
    /// The remedy; empty if none is needed.
    pub(crate) remedy: String,
}

fn finding(grade: Grade, what: &str, found: impl Into<String>, remedy: &str) -> MachineFinding {
    let remedy = if grade == Grade::Good { String::new() } else { remedy.to_owned() };
    MachineFinding { grade, what: what.to_owned(), found: found.into(), remedy }
}

fn good_if(good: bool, what: &str, found: impl Into<String>, remedy: &str) -> MachineFinding {
    finding(if good { Grade::Good } else { Grade::Warning }, what, found, remedy)
}

pub(crate) fn findings(catalog: &Catalog, builder: &Builder) -> Vec<MachineFinding> {
    let host = netdyno_lab_engine::host::detect(netdyno_lab_engine::toolchains::toolchains());
    let emulated = Link { delay: Duration::from_millis(1), ..Link::default() };
    let nets = [Net::Loopback, Net::Veth(Link::default()), Net::Veth(emulated)];
    let mut all = vec![good_if(
        Topology::of_this_machine().is_ok_and(|t| t.cores().len() >= 2),
        "cores",
        format!("{} physical, {} CPUs", host.cores, host.cpus),
        "two roles apart need two physical cores; with one they share it (--placement shared)",
    )];
    all.extend(nets.iter().map(network));
    all.push(good_if(
        host.cgroup != "none" && fs::metadata("/sys/fs/cgroup").is_ok_and(|m| !m.permissions().readonly()),
        "cgroups",
        host.cgroup.clone(),
        "mount cgroup v2; without it CPU time is read from each process, and memory limits are not enforced",
    ));
    all.push(receive_buffer());
    all.push(good_if(
        // A virtual machine has no governor.
        host.governor == "performance" || (host.governor == "unknown" && host.virtual_machine),
        "CPU frequency",
        format!("governor {}", host.governor),
        "cpupower frequency-set -g performance",
    ));
    all.push(good_if(
        host.smt != "on",
        "SMT",
        host.smt.clone(),
        "echo off > /sys/devices/system/cpu/smt/control, or leave it: only one hardware thread per core is used",
    ));
    all.push(quiet(&host));
    all.push(disk(builder));
    all.push(match Store::open(&Store::default_path()) {
        Ok(_) => finding(Grade::Good, "store", Store::default_path().display().to_string(), ""),
        // The error has the remedy.
        Err(e) => finding(Grade::Bad, "store", e.to_string(), ""),
    });
    for problem in &catalog.problems {
        all.push(finding(Grade::Bad, "manifest", problem.to_string(), "mend the file"));
    }
    for contender in catalog.contenders.values() {
        all.push(match builder.availability(contender) {
            Availability::Available => finding(Grade::Good, &contender.id(), "can be built here", ""),
            Availability::Unavailable { reason, remedy } => {
                finding(Grade::Warning, &contender.id(), reason, &remedy)
            }
        });
    }
    all
}

fn network(net: &Net) -> MachineFinding {
    let what = format!("network: {net}");
    let error = match Arena::open(&ArenaSpec::local(net.clone())) {
        Ok(arena) => return finding(Grade::Good, &what, arena.describe(), ""),
        Err(error) => error,
    };
    let remedy = match error {
        ArenaError::Missing { .. } => {
            "modprobe tun; in a container: --device /dev/net/tun; as an ordinary user: chmod 666 /dev/net/tun"
        }
        _ => "run as root, or: sysctl kernel.unprivileged_userns_clone=1 user.max_net_namespaces=1000",
    };
    finding(Grade::Warning, &what, error.to_string(), remedy)
}

fn receive_buffer() -> MachineFinding {
    let text = fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap_or_default();
    let most: u64 = text.trim().parse().unwrap_or(0);
    good_if(
        most >= RECEIVE_BUFFER_BYTES,
        "largest receive buffer",
        format!("net.core.rmem_max = {most} bytes"),
        "sysctl -w net.core.rmem_max=4194304",
    )
}

fn quiet(host: &Host) -> MachineFinding {
    let (lost, longest) = noise();
    let found = format!(
        "other programs took {:.2} % of the time, at most {} us at once; steal {:.2} % since boot",
        100.0 * lost,
        longest.as_micros(),
        host.steal_percent
    );
    good_if(
        lost < LOST_SHARE && host.steal_percent < STEAL_PERCENT,
        "noise",
        found,
        "stop other programs (top); on a shared host, measure more blocks (--precision, --budget)",
    )
}

/// The share of the time lost to other programs, and the longest interruption. A loop on one CPU that reads the clock sees
/// every interruption as a gap.
fn noise() -> (f64, Duration) {
    let begun = Instant::now();
    let (mut last, mut lost, mut longest) = (begun, Duration::ZERO, Duration::ZERO);
    while last.duration_since(begun) < NOISE_TIME {
        let now = Instant::now();
        let gap = now.duration_since(last);
        if gap >= GAP {
            lost += gap;
            longest = longest.max(gap);
        }
        last = now;
    }
    (lost.as_secs_f64() / NOISE_TIME.as_secs_f64(), longest)
}

fn disk(builder: &Builder) -> MachineFinding {
    let folder = builder.cache().ancestors().find(|p| p.exists());
    let free = folder
        .and_then(|f| nix::sys::statvfs::statvfs(f).ok())
        .map(|s| s.blocks_available() * s.fragment_size());
    let shown =
        free.map_or("unknown".to_owned(), |n| format!("{:.1} GiB free", n as f64 / f64::from(1 << 30)));
    let found = format!("{}: {shown}", builder.cache().display());
    good_if(
        free.is_some_and(|f| f >= FREE_BYTES),
        "build cache",
        found,
        "free 5 GiB, or set NETDYNO_CACHE to another disk",
    )
}
