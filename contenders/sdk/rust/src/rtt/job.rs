//! The parameters of both roles.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use super::work::{Runs, Work};
use crate::{HEADER_BYTES, Lab, Setup, now_ns};

/// The value of a time that has not been reached.
pub(super) const NEVER: u64 = u64::MAX;
/// The maximum payload of a UDP datagram over IPv4.
const MAX_MESSAGE_BYTES: u64 = 65_507;
const MAX_LANES: u64 = 10_000;
const MAX_TASKS: u64 = 100_000;

/// The transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A message is a datagram.
    Udp,
    /// A message is the next `message_bytes` bytes of the stream.
    Tcp,
}

/// How ping waits until a request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// It polls the clock and yields in between.
    Spin,
    /// It sleeps with the runtime's timer.
    Timer,
}

/// The parameters of both roles.
#[derive(Debug)]
pub struct Job {
    /// For `ready`, `unsupported` and `failed`.
    pub lab: Lab,
    /// The transport protocol.
    pub transport: Transport,
    /// Length of every message.
    pub message_bytes: usize,
    /// Number of lanes: sockets of ping, each with one outstanding request.
    pub outstanding: usize,
    /// Number of background tasks of this role.
    pub tasks: usize,
    local: IpAddr,
    warmup_ns: AtomicU64,
    warming: (Mutex<()>, Condvar),
    runs: Runs,
}

impl Job {
    pub(super) fn new(lab: Lab, setup: &Setup) -> Self {
        let transport = match setup.params.text("transport").as_str() {
            "udp" => Transport::Udp,
            "tcp" => Transport::Tcp,
            other => lab.unsupported(format!("the transport `{other}`")),
        };
        Self {
            lab,
            transport,
            message_bytes: bounded(lab, setup, "message_bytes", HEADER_BYTES as u64, MAX_MESSAGE_BYTES)
                as usize,
            outstanding: bounded(lab, setup, "outstanding", 1, MAX_LANES) as usize,
            tasks: bounded(lab, setup, "tasks", 0, MAX_TASKS) as usize,
            local: setup.local,
            warmup_ns: AtomicU64::new(NEVER),
            warming: Default::default(),
            runs: Runs::default(),
        }
    }

    /// The address to bind, with a port that the system chooses.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local, 0)
    }

    /// The buffer length that is sufficient for every message of this transport.
    pub fn buffer_bytes(&self) -> usize {
        match self.transport {
            Transport::Udp => super::MAX_DATAGRAM_BYTES,
            Transport::Tcp => self.message_bytes,
        }
    }

    /// Whether a role with threads yields the CPU while it polls the clock until a request is due. It does so only if
    /// another thread may need the CPU, because a yield adds tenths of a microsecond to the latency.
    pub fn yields_cpu(&self) -> bool {
        self.outstanding > 1 || self.tasks > 0
    }

    /// Whether the warm-up has started, which also starts the background tasks.
    pub fn warm(&self) -> bool {
        self.warmup_ns() != NEVER
    }

    pub(super) fn begin_warmup(&self) {
        let (lock, begun) = &self.warming;
        let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.warmup_ns.store(now_ns(), Relaxed);
        drop(held);
        begun.notify_one();
    }

    /// Blocks the thread until the warm-up starts, then wakes two more threads. A single thread that woke thousands
    /// would compete for CPU time with those that already run.
    pub(super) fn await_warmup(&self) {
        let (lock, begun) = &self.warming;
        let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(begun.wait_while(held, |()| !self.warm()).unwrap_or_else(PoisonError::into_inner));
        begun.notify_one();
        begun.notify_one();
    }

    /// The time t0 of the schedule.
    pub(super) fn warmup_ns(&self) -> u64 {
        self.warmup_ns.load(Relaxed)
    }

    pub(super) fn task_runs(&self) -> u64 {
        self.runs.sum()
    }

    /// Returns all background tasks, for adapters that do not use [`work`](super::work).
    pub fn works(&'static self) -> impl Iterator<Item = Work> {
        (0..self.tasks as u32).map(|number| self.runs.work(number))
    }
}

/// Returns an integer parameter within these bounds. Another value ends the process with `failed`.
pub(super) fn bounded(lab: Lab, setup: &Setup, name: &str, min: u64, max: u64) -> u64 {
    let value = setup.params.int(name);
    if !(min..=max).contains(&value) {
        lab.failed(format!("parameter `{name}` is {value}, not between {min} and {max}"));
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rtt::background_threads;

    fn job(outstanding: usize, tasks: usize) -> Job {
        let setup = json!({
            "protocol": 1, "workload": "rtt", "role": "pong", "seed": 1, "local": "127.0.0.1", "peer": "127.0.0.1",
            "params": { "transport": "udp", "message_bytes": 64, "outstanding": outstanding, "tasks": tasks },
        });
        Job::new(Lab::for_tests(), &serde_json::from_value(setup).unwrap())
    }

    #[test]
    fn a_single_thread_does_not_yield() {
        for (outstanding, tasks, wanted) in [(1, 0, false), (2, 0, true), (1, 1, true), (8, 100, true)] {
            assert_eq!(job(outstanding, tasks).yields_cpu(), wanted, "{outstanding} {tasks}");
        }
    }

    #[test]
    fn task_threads_are_created_before_the_warm_up_and_run_after_it() {
        let job: &'static Job = Box::leak(Box::new(job(1, 4)));
        background_threads(job);
        assert_eq!((job.warm(), job.task_runs()), (false, 0));
        let before_ns = now_ns();
        job.begin_warmup();
        assert!(job.warm() && (before_ns..=now_ns()).contains(&job.warmup_ns()));
        while job.task_runs() < 8 {
            std::thread::yield_now();
        }
    }
}
