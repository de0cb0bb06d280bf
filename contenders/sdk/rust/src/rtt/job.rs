//! What both roles are told.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::work::{Runs, Work};
use crate::{HEADER_BYTES, Lab, Setup, now_ns};

/// What a moment is before it has come.
pub(super) const NEVER: u64 = u64::MAX;
/// Longest message that a datagram of IPv4 carries.
const MAX_MESSAGE_BYTES: u64 = 65_507;
const MAX_LANES: u64 = 10_000;
const MAX_TASKS: u64 = 100_000;

/// What carries the messages.
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
    /// By reading the clock, letting others run in between.
    Spin,
    /// By the runtime's own timer.
    Timer,
}

/// The parameters of both roles.
#[derive(Debug)]
pub struct Job {
    /// For `ready` and `unsupported`.
    pub lab: Lab,
    /// What carries the messages.
    pub transport: Transport,
    /// Length of every message.
    pub message_bytes: usize,
    /// Lanes: sockets of ping, each with one request under way.
    pub outstanding: usize,
    /// Background tasks of this role.
    pub tasks: usize,
    local: IpAddr,
    warmup_ns: AtomicU64,
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
            runs: Runs::default(),
        }
    }

    /// The address to bind, at a port of the system's choice.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local, 0)
    }

    /// Bytes of a buffer that takes any message of this transport.
    pub fn buffer_bytes(&self) -> usize {
        match self.transport {
            Transport::Udp => super::MAX_DATAGRAM_BYTES,
            Transport::Tcp => self.message_bytes,
        }
    }

    /// Whether the warm-up has begun: the background tasks' moment.
    pub fn warm(&self) -> bool {
        self.warmup_ns() != NEVER
    }

    pub(super) fn begin_warmup(&self) {
        self.warmup_ns.store(now_ns(), Relaxed);
    }

    /// t0 of the schedule.
    pub(super) fn warmup_ns(&self) -> u64 {
        self.warmup_ns.load(Relaxed)
    }

    pub(super) fn task_runs(&self) -> u64 {
        self.runs.sum()
    }

    /// Every background task, for those whose loop is not [`work`](super::work)'s.
    pub fn works(&'static self) -> impl Iterator<Item = Work> {
        (0..self.tasks as u32).map(|number| self.runs.work(number))
    }
}

/// A parameter that is an integer within these bounds; another one ends the process with `failed`.
pub(super) fn bounded(lab: Lab, setup: &Setup, name: &str, min: u64, max: u64) -> u64 {
    let value = setup.params.int(name);
    if !(min..=max).contains(&value) {
        lab.failed(format!("parameter `{name}` is {value}, not between {min} and {max}"));
    }
    value
}
