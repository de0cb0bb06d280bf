//! Pong's counters and its messages to the lab.

use std::hint::spin_loop;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::json;

use super::Job;
use crate::{Event, Lab, Phase, Setup, end, now_ns};

/// Counters of one echo loop, aligned to avoid false sharing. Only that loop writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    messages: AtomicU64,
    bytes: AtomicU64,
}

/// The role that returns each message.
#[derive(Debug)]
pub struct Pong {
    /// The parameters of both roles.
    pub job: Job,
    echo_delay_ns: u64,
    slots: Box<[Slot]>,
}

/// The state of one echo loop.
#[derive(Debug)]
pub struct Echo {
    slot: &'static Slot,
    delay_ns: u64,
}

impl Pong {
    pub(super) fn new(lab: Lab, setup: &Setup) -> Self {
        let job = Job::new(lab, setup);
        let slots = (0..job.outstanding).map(|_| Slot::default()).collect();
        Self { job, echo_delay_ns: setup.params.int("echo_delay_ns"), slots }
    }

    /// Reports that the socket is bound or listens at this address: signals it to ping and prints `connected`. Call it after
    /// `ready`.
    pub fn bound(&self, at: SocketAddr) {
        self.job.lab.signal("ping", json!({ "port": at.port() }));
        self.job.lab.connected(&[]);
    }

    /// Returns the state of an echo loop: one for the UDP socket, or one for each TCP connection. Numbers are below
    /// `outstanding`. Call it once per number.
    pub fn echo(&'static self, number: usize) -> Echo {
        Echo { slot: &self.slots[number], delay_ns: self.echo_delay_ns }
    }

    pub(super) fn handle(&self, event: Event) {
        let lab = self.job.lab;
        match event {
            Event::Start(Phase::Warmup) => self.job.begin_warmup(),
            Event::Start(_) => {}
            Event::Mark { id } => lab.counters(id, &self.values()),
            Event::Stop => {
                lab.result(&self.values());
                end(0);
            }
            Event::Signal { from, .. } => lab.failed(format!("a signal from {from}: pong expects none")),
        }
    }

    fn values(&self) -> [(&'static str, u64); 3] {
        let sum = |counter: fn(&Slot) -> &AtomicU64| {
            self.slots.iter().map(|slot| counter(slot).load(Relaxed)).sum()
        };
        [
            ("messages", sum(|slot| &slot.messages)),
            ("bytes", sum(|slot| &slot.bytes)),
            ("task_runs", self.job.task_runs()),
        ]
    }
}

impl Echo {
    /// Counts a message and applies `echo_delay_ns`. Call it before returning the message, so that ping never receives an
    /// uncounted echo.
    pub fn answer(&mut self, message: &[u8]) {
        if self.delay_ns > 0 {
            let until_ns = now_ns() + self.delay_ns;
            while now_ns() < until_ns {
                spin_loop();
            }
        }
        let Slot { messages, bytes } = self.slot;
        messages.store(messages.load(Relaxed) + 1, Relaxed);
        bytes.store(bytes.load(Relaxed) + message.len() as u64, Relaxed);
    }
}
