//! The state of the sender.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use netdyno_contender::{Counters, Event, Phase, end};
use serde_json::Value;

use crate::Job;

/// The stages of the sender, which determine the messages that a source may send.
pub(crate) mod stage {
    pub(crate) const NOTHING: u8 = 0;
    pub(crate) const VERIFY: u8 = 1;
    pub(crate) const TRAFFIC: u8 = 2;
    pub(crate) const STOPPED: u8 = 3;
}

/// The sending role.
#[derive(Debug)]
pub struct Sender {
    /// The parameters.
    pub job: Job,
    pub(crate) stage: AtomicU8,
    /// Messages of `verify` that the receiver has acknowledged, for each connection.
    pub(crate) received: Box<[AtomicU64]>,
    pub(crate) counters: Counters,
    ports: Mutex<Vec<u16>>,
    have_ports: Condvar,
}

impl Sender {
    pub(crate) fn new(job: Job) -> Self {
        Self {
            stage: AtomicU8::new(stage::NOTHING),
            received: (0..job.connections).map(|_| AtomicU64::new(0)).collect(),
            counters: Counters::new(job.connections),
            ports: Mutex::new(Vec::new()),
            have_ports: Condvar::new(),
            job,
        }
    }

    /// Waits for the receiver's signal and returns the address of each connection.
    pub fn peers(&self) -> Vec<SocketAddr> {
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        while ports.is_empty() {
            ports = self.have_ports.wait(ports).unwrap_or_else(PoisonError::into_inner);
        }
        ports.iter().map(|port| SocketAddr::new(self.job.peer, *port)).collect()
    }

    pub(crate) fn handle_event(&self, event: Event) {
        match event {
            Event::Mark { id } => self.job.lab.counters(id, &self.values()),
            Event::Signal { body, .. } => self.handle_signal(&body),
            Event::Start(Phase::Verify) => self.stage.store(stage::VERIFY, Ordering::Release),
            Event::Start(_) => self.stage.store(stage::TRAFFIC, Ordering::Release),
            Event::Stop => {
                // Sequentially consistent: see `Source::claim`.
                self.stage.store(stage::STOPPED, Ordering::SeqCst);
                self.job.lab.result(&self.values());
                end(0);
            }
        }
    }

    fn handle_signal(&self, body: &Value) {
        let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
        if let Some(received) = body.get("received").and_then(number).and_then(|i| self.received.get(i)) {
            received.fetch_add(1, Ordering::Release);
            return;
        }
        let port = |value: &Value| value.as_u64().and_then(|number| u16::try_from(number).ok());
        let listed = body.get("ports").and_then(Value::as_array);
        let listed: Option<Vec<u16>> = listed.and_then(|ports| ports.iter().map(port).collect());
        match listed.filter(|ports| ports.len() == self.job.connections) {
            Some(ports) => *self.ports.lock().unwrap_or_else(PoisonError::into_inner) = ports,
            None => self.job.lab.failed(format!("invalid signal: {body}")),
        }
        self.have_ports.notify_all();
    }

    pub(crate) fn values(&self) -> [(&'static str, u64); 2] {
        let sum = self.counters.sum();
        [("messages", sum.messages), ("bytes", sum.bytes)]
    }
}
