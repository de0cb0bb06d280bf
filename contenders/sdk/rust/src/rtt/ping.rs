//! The state that all lanes of ping share, and ping's messages to the lab.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use serde::Deserialize;

use super::job::{NEVER, bounded};
use super::schedule::Schedule;
use super::{Job, Pacing};
use crate::{Digest, Event, Gate, Histograms, Lab, Phase, Setup, SetupTimes, end, now_ns};

/// The only condition of a lane's setup: the echo of its hello.
const HELLO_ECHOED: u8 = 1;
/// Sanity bounds; the bounds of the workload are tighter.
const MAX_RATE: u64 = 1_000_000_000;
const MAX_VERIFY_MESSAGES: u64 = 1 << 32;
const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// The bound on outstanding bytes of hellos and of `verify`, and the approximate overhead of a datagram in a socket
/// buffer. Their total is below the default buffer size of pong's socket.
const TURN_BYTES: usize = 64 << 10;
const DATAGRAM_BYTES: usize = 1 << 10;

/// A lane's counters, aligned to avoid false sharing. Only the lane writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot {
    pub(super) requests: AtomicU64,
    pub(super) messages: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) late: AtomicU64,
    pub(super) strange: AtomicU64,
}

/// The signal from pong.
#[derive(Deserialize)]
struct Listening {
    port: u16,
}

/// The role that sends requests and receives the echoes.
#[derive(Debug)]
pub struct Ping {
    /// The parameters of both roles.
    pub job: Job,
    pub(super) pacing: Pacing,
    pub(super) seed: u64,
    pub(super) verify_messages: u64,
    pub(super) timeout_ns: u64,
    rate: u64,
    window_ns: u64,
    peer_ip: IpAddr,
    peer: OnceLock<SocketAddr>,
    verifying: AtomicBool,
    /// Lanes that are set up, lanes that have completed `verify`, and the number of lanes that may be in either at once.
    greeted: AtomicUsize,
    verified: AtomicUsize,
    turns: usize,
    measure_ns: AtomicU64,
    slots: Box<[Slot]>,
    histograms: Histograms,
    pub(super) setup_times: SetupTimes,
    gate: Gate,
}

impl Ping {
    pub(super) fn new(lab: Lab, setup: &Setup) -> Self {
        let (job, params) = (Job::new(lab, setup), &setup.params);
        let pacing = match params.text("pacing").as_str() {
            "spin" => Pacing::Spin,
            "timer" => Pacing::Timer,
            other => lab.unsupported(format!("the pacing `{other}`")),
        };
        let (lanes, rate) = (job.outstanding, bounded(lab, setup, "rate", 0, MAX_RATE));
        Self {
            pacing,
            seed: setup.seed,
            verify_messages: bounded(lab, setup, "verify_messages", 1, MAX_VERIFY_MESSAGES),
            timeout_ns: bounded(lab, setup, "timeout_ms", 1, MAX_TIMEOUT_MS) * 1_000_000,
            rate,
            // The cast saturates.
            window_ns: (params.float("seconds") * 1e9) as u64,
            peer_ip: setup.peer,
            peer: OnceLock::new(),
            verifying: AtomicBool::new(false),
            greeted: AtomicUsize::new(0),
            verified: AtomicUsize::new(0),
            turns: (TURN_BYTES / (job.message_bytes + DATAGRAM_BYTES)).max(1),
            measure_ns: AtomicU64::new(NEVER),
            slots: (0..lanes).map(|_| Slot::default()).collect(),
            histograms: Histograms::new(lanes, rate > 0),
            setup_times: SetupTimes::new(lanes, HELLO_ECHOED),
            gate: Gate::new(lanes),
            job,
        }
    }

    /// The address of pong. Blocks until pong has signalled it: call it after `ready` and before starting the runtime.
    pub fn peer(&self) -> SocketAddr {
        *self.peer.wait()
    }

    pub(super) fn handle(&self, event: Event) {
        let lab = self.job.lab;
        match event {
            Event::Signal { body, .. } => match serde_json::from_value(body) {
                Ok(Listening { port }) => {
                    if self.peer.set(SocketAddr::new(self.peer_ip, port)).is_err() {
                        lab.failed("duplicate signal with pong's port");
                    }
                }
                Err(error) => lab.failed(format!("invalid signal: {error}")),
            },
            Event::Start(Phase::Verify) => {
                self.gate.started(&lab);
                self.verifying.store(true, Relaxed);
            }
            Event::Start(Phase::Warmup) => self.job.begin_warmup(),
            Event::Start(Phase::Measure) => self.measure_ns.store(now_ns(), Relaxed),
            Event::Mark { id } => lab.counters(id, &self.values()),
            Event::Stop => {
                let values = self.values();
                match self.histograms.encode() {
                    Ok(histograms) => lab.result_with(&values, &histograms),
                    Err(reason) => lab.failed(reason),
                }
                end(0);
            }
        }
    }

    /// Whether this lane may be set up now. All at once would overflow pong's socket buffer.
    pub(super) fn greeting(&self, lane: usize) -> bool {
        lane < self.greeted.load(Relaxed) + self.turns
    }

    /// Whether this lane may run `verify` now, for the same reason.
    pub(super) fn verifying(&self, lane: usize) -> bool {
        self.verifying.load(Relaxed) && lane < self.verified.load(Relaxed) + self.turns
    }

    /// When a lane's request of this number, counted from the warm-up, is due; `None` before the warm-up.
    pub(super) fn due_ns(&self, lane: usize, number: u64) -> Option<u64> {
        let t0_ns = self.job.warmup_ns();
        if t0_ns == NEVER || self.rate == 0 {
            return (t0_ns != NEVER).then_some(0);
        }
        let (lanes, lane) = (self.slots.len() as u64, lane as u64);
        Some(t0_ns + Schedule { rate: self.rate, lanes, lane }.due_ns(number))
    }

    pub(super) fn slot(&self, lane: usize) -> &Slot {
        &self.slots[lane]
    }

    pub(super) fn set_up(&self, lane: usize) {
        self.greeted.fetch_add(1, Relaxed);
        self.setup_times.met(&self.job.lab, lane, HELLO_ECHOED);
    }

    /// Records an echo if it arrived within the window.
    pub(super) fn record(&self, lane: usize, due_ns: u64, sent_ns: u64, echo_ns: u64) {
        let elapsed_ns = echo_ns.checked_sub(self.measure_ns.load(Relaxed));
        if elapsed_ns.is_some_and(|elapsed_ns| elapsed_ns < self.window_ns) {
            self.histograms.record(lane, due_ns, sent_ns, echo_ns);
        }
    }

    /// Reports that a lane has completed `verify`. Its counters contain only echoes of this phase.
    pub(super) fn verified(&self, lane: usize, digest: &Digest) {
        let messages = self.slot(lane).messages.load(Relaxed);
        self.verified.fetch_add(1, Relaxed);
        self.gate.passed(&self.job.lab, digest, messages, messages * self.job.message_bytes as u64);
    }

    fn values(&self) -> [(&'static str, u64); 7] {
        let sum = |counter: fn(&Slot) -> &AtomicU64| {
            self.slots.iter().map(|slot| counter(slot).load(Relaxed)).sum()
        };
        let messages: u64 = sum(|slot| &slot.messages);
        [
            ("requests", sum(|slot| &slot.requests)),
            ("messages", messages),
            ("bytes", messages * self.job.message_bytes as u64),
            ("lost", sum(|slot| &slot.lost)),
            ("late", sum(|slot| &slot.late)),
            ("strange", sum(|slot| &slot.strange)),
            ("task_runs", self.job.task_runs()),
        ]
    }

    #[cfg(test)]
    pub(super) fn measure_ns(&self) -> u64 {
        self.measure_ns.load(Relaxed)
    }

    /// The number of echoes in the histograms.
    #[cfg(test)]
    pub(super) fn samples(&self) -> u64 {
        self.histograms.samples()
    }
}
