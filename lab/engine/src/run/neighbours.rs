//! Other programs on this machine during a run: other runs, and anything that takes CPU time.
//!
//! A measuring run binds a socket with an abstract name, which disappears with the process. A new run finds the
//! sockets of others and sends each its id, so that they know about it at their end. Runs in other network
//! namespaces, such as containers, are not seen; their CPU time is.

use std::io::Read;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use procfs::CurrentSI;

const NAME: &str = "netdyno-measures-";
/// Longest accepted id of another run, since any program can send to the socket.
const ID_BYTES_MAX: usize = 64;
/// Most other runs that are notified and named.
const RUNS_MAX: usize = 16;
/// Observation time before the first block.
const WATCH: Duration = Duration::from_millis(500);
/// Share of the machine's CPU time used by other programs that causes a warning.
const OTHERS_SHARE: f64 = 0.02;

/// Other programs on the machine during a run.
pub(super) struct Neighbours {
    /// None if the name is taken or denied: other runs then do not notice this one.
    socket: Option<UnixDatagram>,
    begun: Option<Times>,
    /// Runs that a warning has named.
    named: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl Neighbours {
    /// Observes the machine before the first block, and announces this run.
    pub(super) fn begin(run: &str) -> Neighbours {
        let mut warnings = Vec::new();
        let others: Vec<String> = others(run).into_iter().take(RUNS_MAX).collect();
        let socket = SocketAddr::from_abstract_name(format!("{NAME}{run}"))
            .and_then(|name| UnixDatagram::bind_addr(&name))
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .inspect_err(|error| tracing::debug!(%error, "other runs cannot detect this one"))
            .ok();
        for other in &others {
            let name = SocketAddr::from_abstract_name(format!("{NAME}{other}"));
            if let (Some(socket), Ok(name)) = (&socket, name) {
                // The other run may have just ended.
                let _ = socket.send_to_addr(run.as_bytes(), &name);
            }
        }
        warnings.extend(of_runs(&others));
        let before = Times::now();
        std::thread::sleep(WATCH);
        let begun = Times::now();
        warnings.extend(of_others(before.as_ref(), begun.as_ref(), "just before the first block"));
        Neighbours { socket, begun, named: others, warnings }
    }

    pub(super) fn end(self) -> Vec<String> {
        let ended = Times::now();
        tracing::debug!(begun = ?self.begun, ?ended, "CPU time");
        let others = of_others(self.begun.as_ref(), ended.as_ref(), "while this run measured");
        of_runs(&self.heard()).into_iter().chain(others).collect()
    }

    /// The runs that started in the meantime, each once: a run is announced again when it is resumed.
    fn heard(&self) -> Vec<String> {
        let Some(socket) = &self.socket else { return Vec::new() };
        let mut ids = Vec::new();
        let mut buffer = [0; ID_BYTES_MAX];
        while ids.len() < RUNS_MAX
            && let Ok(length) = socket.recv(&mut buffer)
        {
            let id = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
            if is_id(id) && ![&ids, &self.named].iter().any(|known| known.iter().any(|known| known == id)) {
                ids.push(id.to_owned());
            }
        }
        ids
    }
}

/// The runs with a socket, except this one.
fn others(run: &str) -> Vec<String> {
    let mut text = Vec::new();
    let limit = 16 << 20;
    let read = std::fs::File::open("/proc/net/unix").and_then(|f| f.take(limit).read_to_end(&mut text));
    if let Err(error) = read {
        tracing::debug!(%error, "/proc/net/unix: other runs cannot be detected");
    }
    let text = String::from_utf8_lossy(&text);
    // An abstract name is displayed with a leading @, at the end of the line.
    let names =
        text.lines().filter_map(|line| line.rsplit(' ').next()?.strip_prefix('@')?.strip_prefix(NAME));
    names.filter(|id| is_id(id) && *id != run).map(str::to_owned).collect()
}

/// Accepts only valid ids, since others may come from outside and would be part of a report.
fn is_id(id: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn of_runs(ids: &[String]) -> Option<String> {
    (!ids.is_empty()).then(|| {
        format!(
            "another netdyno measured at the same time: run {}; each took CPU time, cache and memory bandwidth from the other",
            ids.join(", ")
        )
    })
}

/// CPU time so far, in seconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    at: Instant,
    busy: f64,
    /// This process, its reaped descendants, and the kernel threads for network traffic, most of which is ours.
    /// Running roles are not included: it is read when there are none.
    own: f64,
    cpus: usize,
}

impl Times {
    fn now() -> Option<Times> {
        let stat = procfs::KernelStats::current().ok()?;
        let t = &stat.total;
        let ticks = t.user + t.nice + t.system + t.irq.unwrap_or(0) + t.softirq.unwrap_or(0);
        let of = |who| {
            let usage = getrusage(who).ok()?;
            let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
            Some(seconds(usage.user_time()) + seconds(usage.system_time()))
        };
        let per_second = procfs::ticks_per_second() as f64;
        let own = of(UsageWho::RUSAGE_SELF)? + of(UsageWho::RUSAGE_CHILDREN)?;
        let softirqs: u64 = procfs::process::all_processes()
            .ok()?
            .flatten()
            .filter_map(|p| p.stat().ok())
            .filter(|s| s.comm.starts_with("ksoftirqd/"))
            .map(|s| s.utime + s.stime)
            .sum();
        Some(Times {
            at: Instant::now(),
            busy: ticks as f64 / per_second,
            own: own + softirqs as f64 / per_second,
            cpus: stat.cpu_time.len(),
        })
    }
}

/// A warning if other programs used much CPU time between two readings.
fn of_others(from: Option<&Times>, to: Option<&Times>, when: &str) -> Option<String> {
    let (from, to) = (from?, to?);
    let capacity = to.at.duration_since(from.at).as_secs_f64() * to.cpus as f64;
    // Ticks are coarse: a short interval may appear to exceed its capacity.
    let share = (((to.busy - from.busy) - (to.own - from.own)) / capacity).min(1.0);
    (share > OTHERS_SHARE).then(|| {
        format!(
            "noise: other programs took {:.0} % of this machine's CPU time {when}; stop them (top), or measure \
             more blocks",
            100.0 * share
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_see_each_other_whichever_began_first() {
        let first = Neighbours::begin("20260101-000000-aaaa");
        let second = Neighbours::begin("20260101-000001-bbbb");
        let tells = |warnings: &[String], id: &str| warnings.iter().any(|w| w.contains(id));
        assert!(tells(&second.warnings, "20260101-000000-aaaa"), "{:?}", second.warnings);
        assert!(!tells(&second.warnings, "bbbb"), "not of itself: {:?}", second.warnings);
        assert!(tells(&first.end(), "20260101-000001-bbbb"));
        assert!(!others("").contains(&"20260101-000000-aaaa".to_owned()), "it is over");
        assert!(!tells(&second.end(), "aaaa"), "told once");
        // A run that is resumed is announced again.
        let long = Neighbours::begin("20260101-000002-cccc");
        for _ in 0..2 {
            drop(Neighbours::begin("20260101-000003-dddd"));
        }
        let warnings = long.end();
        assert_eq!(warnings.iter().map(|w| w.matches("dddd").count()).sum::<usize>(), 1, "{warnings:?}");
        let known = Neighbours::begin("20260101-000004-eeee");
        let later = Neighbours::begin("20260101-000005-ffff");
        drop(known);
        drop(Neighbours::begin("20260101-000004-eeee"));
        assert!(tells(&later.warnings, "eeee") && !tells(&later.end(), "eeee"), "named twice");
    }

    #[test]
    fn what_a_stranger_writes_is_not_believed() {
        assert!(is_id("20260101-000000-aaaa"));
        for id in ["", "a b", "\u{1b}[31m", &"x".repeat(ID_BYTES_MAX + 1)] {
            assert!(!is_id(id), "{id:?}");
        }
    }

    #[test]
    fn others_are_what_is_busy_and_not_ours() {
        let at = Instant::now();
        let from = Times { at, busy: 100.0, own: 10.0, cpus: 4 };
        let after = |busy, own| Times { at: at + Duration::from_secs(10), busy, own, cpus: 4 };
        // 20 s of 40, of which 19.5 s are ours; then 4 s are not.
        assert_eq!(of_others(Some(&from), Some(&after(120.0, 29.5)), "then"), None);
        let warning = of_others(Some(&from), Some(&after(120.0, 26.0)), "then").unwrap();
        assert!(warning.contains("took 10 % of this machine's CPU time then"), "{warning}");
        // Ticks are coarse: our part may exceed the total.
        assert_eq!(of_others(Some(&from), Some(&after(101.0, 12.0)), "then"), None);
        assert_eq!(of_others(None, Some(&from), "then"), None);
    }
}
