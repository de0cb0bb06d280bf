//! Findings about this machine, with remedies.

use std::fs;
use std::time::Duration;

use super::noise;
use netdyno_lab_arena::{Arena, ArenaError, ArenaSpec, Topology};
use netdyno_lab_engine::build::{Availability, Builder};
use netdyno_lab_manifest::Catalog;
use netdyno_lab_manifest::{Link, Net};
use netdyno_lab_store::Host;
use netdyno_lab_store::Store;

/// Receive buffer size that holds a batch of 64 large datagrams. The usual default of 212,992 bytes holds about 90
/// small ones.
const RECEIVE_BUFFER_BYTES: u64 = 4 << 20;
/// Share of CPU time lost to other programs above which figures drift visibly.
const LOST_SHARE: f64 = 0.01;
const STEAL_PERCENT: f64 = 1.0;
const FREE_BYTES: u64 = 5 << 30;
const NOISE_TIME: Duration = Duration::from_millis(500);

/// The grade of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// No problem.
    Good,
    /// Measurements are possible, but less accurate.
    Warning,
    /// Something is impossible here.
    Bad,
}

/// A finding.
#[derive(Debug, Clone)]
pub struct MachineFinding {
    /// Its grade.
    pub grade: Grade,
    /// The checked property.
    pub what: String,
    /// Its state.
    pub found: String,
    /// The remedy; empty if none is needed.
    pub remedy: String,
}

fn finding(grade: Grade, what: &str, found: impl Into<String>, remedy: &str) -> MachineFinding {
    let remedy = if grade == Grade::Good { String::new() } else { remedy.to_owned() };
    MachineFinding { grade, what: what.to_owned(), found: found.into(), remedy }
}

fn good_if(good: bool, what: &str, found: impl Into<String>, remedy: &str) -> MachineFinding {
    finding(if good { Grade::Good } else { Grade::Warning }, what, found, remedy)
}

/// Runs all checks.
pub fn findings(catalog: &Catalog, builder: &Builder) -> Vec<MachineFinding> {
    let host = netdyno_lab_engine::host::detect(netdyno_lab_engine::toolchains::toolchains());
    let emulated = Link { delay: Duration::from_millis(1), ..Link::default() };
    let nets = [Net::Loopback, Net::Veth(Link::default()), Net::Veth(emulated)];
    let mut all = vec![cores(&host)];
    all.extend(nets.iter().map(network));
    all.push(good_if(
        host.cgroup != "none" && fs::metadata("/sys/fs/cgroup").is_ok_and(|m| !m.permissions().readonly()),
        "cgroups",
        host.cgroup.clone(),
        "mount cgroup v2; without it CPU time is read from each process, and memory limits are not enforced",
    ));
    all.push(receive_buffer());
    all.push(governor(&host));
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

fn cores(host: &Host) -> MachineFinding {
    let enough = Topology::of_this_machine().is_ok_and(|t| t.cores().len() >= 2);
    good_if(
        enough,
        "cores",
        format!("{} physical, {} CPUs", host.cores, host.cpus),
        "two roles apart need two physical cores; with one they share it (--placement shared)",
    )
}

fn network(net: &Net) -> MachineFinding {
    let what = format!("network: {net}");
    match Arena::open(&ArenaSpec::local(net.clone())) {
        Ok(arena) => finding(Grade::Good, &what, arena.describe(), ""),
        Err(e @ ArenaError::Missing { .. }) => finding(
            Grade::Warning,
            &what,
            e.to_string(),
            "modprobe tun; in a container: --device /dev/net/tun; as an ordinary user: chmod 666 /dev/net/tun",
        ),
        Err(e) => finding(
            Grade::Warning,
            &what,
            e.to_string(),
            "run as root, or: sysctl kernel.unprivileged_userns_clone=1 user.max_net_namespaces=1000",
        ),
    }
}

fn receive_buffer() -> MachineFinding {
    let most: u64 = fs::read_to_string("/proc/sys/net/core/rmem_max")
        .ok()
        .and_then(|t| t.trim().parse().ok())
        .unwrap_or(0);
    good_if(
        most >= RECEIVE_BUFFER_BYTES,
        "largest receive buffer",
        format!("net.core.rmem_max = {most} bytes"),
        "sysctl -w net.core.rmem_max=4194304",
    )
}

fn governor(host: &Host) -> MachineFinding {
    // A virtual machine has no governor.
    let good = host.governor == "performance" || (host.governor == "unknown" && host.virtual_machine);
    good_if(
        good,
        "CPU frequency",
        format!("governor {}", host.governor),
        "cpupower frequency-set -g performance",
    )
}

fn quiet(host: &Host) -> MachineFinding {
    let noise = noise::measure(NOISE_TIME);
    let found = format!(
        "other programs took {:.2} % of the time, at most {} us at once; steal {:.2} % since boot",
        100.0 * noise.lost,
        noise.longest.as_micros(),
        host.steal_percent
    );
    good_if(
        noise.lost < LOST_SHARE && host.steal_percent < STEAL_PERCENT,
        "noise",
        found,
        "stop other programs (top); on a shared host, measure more blocks (--precision, --budget)",
    )
}

fn disk(builder: &Builder) -> MachineFinding {
    let folder = builder.cache().ancestors().find(|p| p.exists());
    let free = folder
        .and_then(|f| nix::sys::statvfs::statvfs(f).ok())
        .map(|s| s.blocks_available() * s.fragment_size());
    let found = match free {
        Some(free) => {
            format!("{}: {:.1} GiB free", builder.cache().display(), free as f64 / f64::from(1 << 30))
        }
        None => format!("{}: unknown", builder.cache().display()),
    };
    good_if(
        free.is_some_and(|f| f >= FREE_BYTES),
        "build cache",
        found,
        "free 5 GiB, or set NETDYNO_CACHE to another disk",
    )
}
