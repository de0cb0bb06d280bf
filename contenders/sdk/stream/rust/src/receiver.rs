//! The state of the receiver.

use netdyno_contender::payload::Tally;
use netdyno_contender::{Counters, Event, Gate, Phase, end};
use serde_json::json;

use crate::Job;

/// The receiving role.
#[derive(Debug)]
pub struct Receiver {
    /// The parameters.
    pub job: Job,
    pub(crate) counters: Counters,
    pub(crate) gate: Gate,
}

impl Receiver {
    pub(crate) fn new(job: Job) -> Self {
        Self { counters: Counters::new(job.connections), gate: Gate::new(job.connections), job }
    }

    /// Reports the port of each connection: messages can arrive.
    pub fn bound(&self, ports: &[u16]) {
        self.job.lab.signal("sender", json!({ "ports": ports }));
        self.job.lab.connected(&[]);
    }

    pub(crate) fn handle_event(&self, event: Event) {
        match event {
            Event::Mark { id } => self.job.lab.counters(id, &self.values()),
            Event::Start(Phase::Verify) => self.gate.started(&self.job.lab),
            Event::Signal { .. } | Event::Start(_) => {}
            Event::Stop => {
                self.job.lab.result(&self.values());
                end(0);
            }
        }
    }

    pub(crate) fn values(&self) -> [(&'static str, u64); 5] {
        let Tally { messages, bytes, gaps, repeats, disorder } = self.counters.sum();
        [
            ("messages", messages),
            ("bytes", bytes),
            ("gaps", gaps),
            ("repeats", repeats),
            ("disorder", disorder),
        ]
    }
}
