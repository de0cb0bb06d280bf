//! State and counters of a `datachannel` role. An adapter adds little more than the calls of its library.
//!
//! A [`Job`] reads the parameters, times the setup and answers the lab. A [`Source`] generates the offerer's messages;
//! a [`Sink`] checks those that the answerer receives.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver as Events;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::payload::{self, Tally};
use crate::{Counters, Event, Gate, Lab, Phase, Receiver, Setup, SetupTimes, end};

/// Label of every data channel.
pub const LABEL: &str = "netdyno";
/// The message that the answerer sends when a channel opens.
pub const HELLO: &[u8] = b"hello";

/// The maximum number of candidates of a connection before its description.
const MAX_EARLY_CANDIDATES: usize = 64;
const OPEN: u8 = 1;
const HELLO_RECEIVED: u8 = 2;

/// The two roles of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Makes the offers and sends messages.
    Offerer,
    /// Answers the offers and receives messages.
    Answerer,
}

/// A candidate of the other role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The attribute as in SDP, from "candidate:" on.
    pub candidate: String,
    /// The identification tag of its media section.
    #[serde(default)]
    pub sdp_mid: Option<String>,
    /// The index of its media section.
    #[serde(default)]
    pub sdp_mline_index: Option<u16>,
}

/// A signal between the two roles about a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Signal {
    Offer { sdp: String },
    Answer { sdp: String },
    Candidate(Candidate),
}

/// A [`Signal`] and the number of its connection.
#[derive(Serialize, Deserialize)]
struct Envelope {
    connection: usize,
    #[serde(flatten)]
    signal: Signal,
}

/// An instruction to the adapter. The [`Job`] itself answers marks and `stop`.
#[derive(Debug)]
pub enum Order {
    /// The other role's description of this connection: an offer for the answerer, an answer for the offerer.
    Remote(usize, String),
    /// A candidate for this connection. It follows the description.
    Candidate(usize, Candidate),
    /// Start this phase.
    Start(Phase),
}

/// The state of one role in one trial.
#[derive(Debug)]
pub struct Job {
    /// The role of this process.
    pub role: Role,
    /// The only address to gather candidates on.
    pub local: IpAddr,
    /// Number of peer connections.
    pub pairs: usize,
    /// Length of each message.
    pub message_bytes: usize,
    /// Whether the channels are ordered.
    pub ordered: bool,
    /// Buffered amount at which a sender pauses.
    pub high_water_bytes: usize,
    lab: Lab,
    seed: u64,
    verify_messages: u64,
    counters: Counters,
    gate: Gate,
    setup_times: SetupTimes,
    stopping: AtomicBool,
}

impl Job {
    /// Reads the setup. Another workload, an unknown role or messages longer than `max_message_bytes` are `unsupported`.
    pub fn new(lab: Lab, setup: &Setup, max_message_bytes: usize) -> Arc<Self> {
        if setup.workload != "datachannel" {
            lab.unsupported(format!("the workload `{}`", setup.workload));
        }
        let (role, conditions) = match setup.role.as_str() {
            "offerer" => (Role::Offerer, OPEN | HELLO_RECEIVED),
            "answerer" => (Role::Answerer, OPEN),
            other => lab.unsupported(format!("the role `{other}`")),
        };
        let int = |name| usize::try_from(setup.params.int(name)).unwrap_or(usize::MAX);
        let (pairs, message_bytes) = (int("pairs"), int("message_bytes"));
        if message_bytes > max_message_bytes {
            lab.unsupported(format!("messages of {message_bytes} bytes; the maximum is {max_message_bytes}"));
        }
        if pairs == 0 || pairs > u32::MAX as usize || message_bytes < payload::HEADER_BYTES {
            lab.failed(format!("{pairs} pairs with messages of {message_bytes} bytes"));
        }
        Arc::new(Self {
            role,
            local: setup.local,
            pairs,
            message_bytes,
            ordered: setup.params.flag("ordered"),
            high_water_bytes: int("high_water_bytes"),
            lab,
            seed: setup.seed,
            verify_messages: setup.params.int("verify_messages"),
            counters: Counters::new(pairs),
            gate: Gate::new(pairs),
            setup_times: SetupTimes::new(pairs, conditions),
            stopping: AtomicBool::new(false),
        })
    }

    /// Buffered amount at which a paused sender resumes.
    pub fn low_water_bytes(&self) -> usize {
        self.high_water_bytes / 2
    }

    /// Answers the lab on a separate thread, independently of the library, and passes instructions to `on_order`.
    /// Call it once per process, before [`Lab::ready`].
    pub fn serve(self: &Arc<Self>, events: Events<Event>, mut on_order: impl FnMut(Order) + Send + 'static) {
        let job = Arc::clone(self);
        std::thread::spawn(move || {
            let mut early = vec![Some(Vec::new()); job.pairs];
            for event in events {
                match event {
                    Event::Mark { id } => job.lab.counters(id, &job.values()),
                    Event::Signal { body, .. } => job.on_signal(body, &mut early, &mut on_order),
                    Event::Start(phase) => {
                        if phase == Phase::Verify && job.role == Role::Answerer {
                            job.gate.started(&job.lab);
                        }
                        on_order(Order::Start(phase));
                    }
                    Event::Stop => {
                        // After the result, no message may be sent: it would not be counted.
                        job.stopping.store(true, Relaxed);
                        job.lab.result(&job.values());
                        end(0);
                    }
                }
            }
        });
    }

    /// Passes on a signal. `early` holds the candidates of connections without a description: a library that trickles
    /// may signal candidates first.
    fn on_signal(&self, body: Value, early: &mut [Option<Vec<Candidate>>], on_order: &mut impl FnMut(Order)) {
        let Envelope { connection, signal } = match serde_json::from_value(body) {
            Ok(envelope) => envelope,
            Err(error) => self.lab.failed(format!("invalid signal: {error}")),
        };
        let Some(held) = early.get_mut(connection) else {
            self.failed(connection, format!("no such connection; there are {}", self.pairs));
        };
        match (signal, self.role) {
            (Signal::Offer { sdp }, Role::Answerer) | (Signal::Answer { sdp }, Role::Offerer) => {
                let Some(candidates) = held.take() else { self.failed(connection, "duplicate description") };
                on_order(Order::Remote(connection, sdp));
                candidates
                    .into_iter()
                    .for_each(|candidate| on_order(Order::Candidate(connection, candidate)));
            }
            (Signal::Offer { .. } | Signal::Answer { .. }, _) => {
                self.failed(connection, "an offer for the offerer, or an answer for the answerer");
            }
            // An empty candidate marks the end of candidates.
            (Signal::Candidate(candidate), _) if candidate.candidate.is_empty() => {}
            (Signal::Candidate(candidate), _) => match held {
                None => on_order(Order::Candidate(connection, candidate)),
                Some(held) if held.len() < MAX_EARLY_CANDIDATES => held.push(candidate),
                Some(_) => self.failed(connection, "too many candidates before the description"),
            },
        }
    }

    /// Sends this role's description of a connection to the other role.
    pub fn describe(&self, connection: usize, sdp: String) {
        let (to, signal) = match self.role {
            Role::Offerer => ("answerer", Signal::Offer { sdp }),
            Role::Answerer => ("offerer", Signal::Answer { sdp }),
        };
        self.lab.signal(to, json!(Envelope { connection, signal }));
    }

    /// Starts the setup time: call it right before the peer connection object is created.
    pub fn created(&self, connection: usize) {
        self.setup_times.created(connection);
    }

    /// Reports that the data channel is open.
    pub fn opened(&self, connection: usize) {
        self.setup_times.met(&self.lab, connection, OPEN);
    }

    /// Reports a message that the offerer received. It must be the hello.
    pub fn hello(&self, connection: usize, message: &[u8]) {
        if message != HELLO {
            self.failed(connection, "expected the hello, received another message");
        }
        self.setup_times.met(&self.lab, connection, HELLO_RECEIVED);
    }

    /// Reports an error of a connection and exits.
    pub fn failed(&self, connection: usize, reason: impl std::fmt::Display) -> ! {
        self.lab.failed(format!("connection {connection}: {reason}"))
    }

    /// Returns the source of a connection's messages. Call it once per connection.
    pub fn source(self: &Arc<Self>, connection: usize) -> Source {
        let message = vec![0; self.message_bytes];
        Source { job: Arc::clone(self), connection, message, tally: Tally::default() }
    }

    /// Returns the sink of a connection's messages. Call it once per connection.
    pub fn sink(self: &Arc<Self>, connection: usize) -> Sink {
        let receiver = Receiver::new(self.seed, connection as u32, self.message_bytes);
        Sink { job: Arc::clone(self), connection, receiver, awaited: self.verify_messages }
    }

    fn values(&self) -> Vec<(&'static str, u64)> {
        let Tally { messages, bytes, gaps, repeats, disorder } = self.counters.sum();
        let mut values = vec![("messages", messages), ("bytes", bytes)];
        if self.role == Role::Answerer {
            values.extend([("gaps", gaps), ("repeats", repeats), ("disorder", disorder)]);
        }
        values
    }
}

/// The messages of one connection, in order.
#[derive(Debug)]
pub struct Source {
    job: Arc<Job>,
    connection: usize,
    message: Vec<u8>,
    tally: Tally,
}

impl Source {
    /// Whether the next message belongs to the `verify` phase. Otherwise, send it after the start of the warm-up.
    pub fn verifying(&self) -> bool {
        self.tally.messages < self.job.verify_messages
    }

    /// Returns the next message, and the same one until [`sent`](Self::sent) is called. Does not return after `stop`,
    /// which ends the process.
    pub fn next_message(&mut self) -> &[u8] {
        while self.job.stopping.load(Relaxed) {
            std::thread::park();
        }
        let (stream, sequence) = (self.connection as u32, self.tally.messages);
        if self.verifying() {
            payload::fill(&mut self.message, self.job.seed, stream, sequence);
        } else {
            payload::write_header(&mut self.message, stream, sequence);
        }
        &self.message
    }

    /// Reports that the library accepted the message.
    pub fn sent(&mut self) {
        self.tally.messages += 1;
        self.tally.bytes += self.message.len() as u64;
        self.job.counters.publish(self.connection, &self.tally);
    }
}

/// Checks and counts the messages of one connection. A wrong message ends the process with `failed`.
#[derive(Debug)]
pub struct Sink {
    job: Arc<Job>,
    connection: usize,
    receiver: Receiver,
    /// Messages of the `verify` phase that have not arrived yet.
    awaited: u64,
}

impl Sink {
    /// Checks and counts a received message.
    pub fn on_message(&mut self, message: &[u8]) {
        // The sequence number decides, not the phase: the other role may learn of a phase first.
        let verify = payload::sequence(message).is_some_and(|number| number < self.job.verify_messages);
        if let Err(reason) = self.receiver.on_message(message, verify) {
            self.job.lab.failed(reason);
        }
        let tally = self.receiver.tally();
        self.job.counters.publish(self.connection, &tally);
        if verify && self.awaited > 0 {
            self.awaited -= 1;
            if self.awaited == 0 {
                self.job.gate.passed(&self.job.lab, self.receiver.digest(), tally.messages, tally.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(role: &str, message_bytes: usize) -> Arc<Job> {
        let setup = json!({
            "type": "setup", "protocol": 1, "workload": "datachannel", "role": role, "seed": 5,
            "local": "127.0.0.1", "peer": "127.0.0.1",
            "params": { "pairs": 2, "message_bytes": message_bytes, "ordered": true, "verify_messages": 3,
                        "high_water_bytes": 1000 },
        });
        Job::new(Lab::for_tests(), &serde_json::from_value(setup).unwrap(), 100)
    }

    #[test]
    fn signals_have_the_json_form_of_the_contract() {
        let candidate = Candidate {
            candidate: "candidate:1 1 udp 1 127.0.0.1 9 typ host".into(),
            sdp_mid: Some("0".into()),
            sdp_mline_index: Some(0),
        };
        let rows = [
            (Signal::Offer { sdp: "v=0".into() }, json!({ "connection": 3, "type": "offer", "sdp": "v=0" })),
            (
                Signal::Candidate(candidate.clone()),
                json!({ "connection": 3, "type": "candidate", "candidate": candidate.candidate,
                        "sdp_mid": "0", "sdp_mline_index": 0 }),
            ),
        ];
        for (signal, wire) in rows {
            assert_eq!(json!(Envelope { connection: 3, signal: signal.clone() }), wire);
            assert_eq!(serde_json::from_value::<Envelope>(wire).unwrap().signal, signal);
        }
    }

    #[test]
    fn candidates_wait_for_the_description() {
        let job = job("answerer", 80);
        let mut early = vec![Some(Vec::new()); job.pairs];
        let mut seen = Vec::new();
        let candidate = |name: &str| json!({ "connection": 1, "type": "candidate", "candidate": name });
        let offer = json!({ "connection": 1, "type": "offer", "sdp": "v=0" });
        for body in [candidate("a"), candidate(""), candidate("b"), offer, candidate("c")] {
            job.on_signal(body, &mut early, &mut |order| {
                seen.push(match order {
                    Order::Remote(1, sdp) => sdp,
                    Order::Candidate(1, candidate) => candidate.candidate,
                    other => panic!("{other:?}"),
                });
            });
        }
        assert_eq!(seen, ["v=0", "a", "b", "c"]);
    }

    #[test]
    fn a_sink_accepts_the_messages_of_a_source() {
        let (offerer, answerer) = (job("offerer", 80), job("answerer", 80));
        let (mut source, mut sink) = (offerer.source(1), answerer.sink(1));
        for sequence in 0..5 {
            assert_eq!(source.verifying(), sequence < 3);
            sink.on_message(source.next_message());
            source.sent();
        }
        let sum = [("messages", 5), ("bytes", 400), ("gaps", 0), ("repeats", 0), ("disorder", 0)];
        assert_eq!(answerer.values(), sum);
        assert_eq!(offerer.values(), sum[..2]);
    }

    #[test]
    fn a_source_blocks_after_stop() {
        let job = job("offerer", 80);
        let mut source = job.source(0);
        source.next_message();
        job.stopping.store(true, Relaxed);
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            source.next_message();
            let _ = sender.send(());
        });
        assert!(receiver.recv_timeout(std::time::Duration::from_millis(50)).is_err());
    }
}
