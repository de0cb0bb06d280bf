//! The contender protocol: JSON lines from the lab on stdin, to the lab on stdout.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Digest, end, now_ns};

/// The maximum length of a line.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// The maximum number of events in the queue; then the reader blocks.
const MAX_QUEUED_EVENTS: usize = 1024;
const PROTOCOL_VERSION: u32 = 1;
const EXIT_FAILED: i32 = 1;
const EXIT_UNSUPPORTED: i32 = 127;

/// The configuration of this process.
#[derive(Debug, Clone, Deserialize)]
pub struct Setup {
    /// Version of the protocol. [`Lab::connect`] accepts only its own.
    pub protocol: u32,
    /// Name of the workload.
    pub workload: String,
    /// Name of the role that this process plays.
    pub role: String,
    /// Seed of the payload; fits in 53 bits.
    pub seed: u64,
    /// Address to bind.
    pub local: IpAddr,
    /// Address of the other role.
    pub peer: IpAddr,
    /// The workload's parameters.
    pub params: Params,
    /// Paths of the trial's input files, by name.
    #[serde(default)]
    pub inputs: BTreeMap<String, PathBuf>,
    /// True if the trial is for debugging and its figures are discarded.
    #[serde(default)]
    pub capture: bool,
}

/// The workload's parameters by name. A missing parameter or another type ends the process with `failed`.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Params(Map<String, Value>);

impl Params {
    /// Returns a non-negative integer parameter.
    pub fn int(&self, name: &str) -> u64 {
        self.get(name, Value::as_u64, "a non-negative integer")
    }

    /// Returns a numeric parameter.
    pub fn float(&self, name: &str) -> f64 {
        self.get(name, Value::as_f64, "a number")
    }

    /// Returns a Boolean parameter.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name, Value::as_bool, "true or false")
    }

    /// Returns a text parameter.
    pub fn text(&self, name: &str) -> String {
        self.get(name, |value| value.as_str().map(str::to_owned), "a string")
    }

    fn get<T>(&self, name: &str, read: impl Fn(&Value) -> Option<T>, wanted: &str) -> T {
        let value = self.0.get(name);
        value.and_then(read).unwrap_or_else(|| match value {
            None => Lab(()).failed(format!("parameter `{name}` is missing")),
            Some(value) => Lab(()).failed(format!("parameter `{name}` is {value}, not {wanted}")),
        })
    }
}

/// A message from the lab after the setup.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Line")]
pub enum Event {
    /// A signal of the role `from`, forwarded unchanged.
    Signal {
        /// The sender.
        from: String,
        /// The content.
        body: Value,
    },
    /// Start this phase.
    Start(Phase),
    /// Answer immediately with the counters.
    Mark {
        /// To be returned in the answer.
        id: u64,
    },
    /// Print the result and exit. This is the last event.
    Stop,
}

/// The phases of a trial, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Every byte is compared.
    Verify,
    /// Unmeasured traffic.
    Warmup,
    /// Measured traffic.
    Measure,
}

/// The JSON form of an [`Event`].
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Signal { from: String, body: Value },
    Start { phase: Phase },
    Mark { id: u64 },
    Stop,
}

impl From<Line> for Event {
    fn from(line: Line) -> Self {
        match line {
            Line::Signal { from, body } => Self::Signal { from, body },
            Line::Start { phase } => Self::Start(phase),
            Line::Mark { id } => Self::Mark { id },
            Line::Stop => Self::Stop,
        }
    }
}

/// The first line. It is a separate enum, so that a second setup is an unknown type.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum FirstLine {
    Setup(Setup),
}

/// A handle for sending messages to the lab. Each line is written by one call and flushed.
#[derive(Debug, Clone, Copy)]
pub struct Lab(());

impl Lab {
    /// Reads the setup, then passes later events to the returned queue.
    pub fn connect() -> (Self, Setup, Receiver<Event>) {
        let (queue, events) = sync_channel(MAX_QUEUED_EVENTS);
        // If the receiver was dropped, the program is about to exit.
        let (lab, setup) = Self::connect_with(move |event| drop(queue.send(event)));
        (lab, setup, events)
    }

    /// Reads the setup, then passes later events to `on_event` on the thread that reads stdin.
    pub fn connect_with(mut on_event: impl FnMut(Event) + Send + 'static) -> (Self, Setup) {
        let lab = Self(());
        let FirstLine::Setup(setup) = lab.read();
        if setup.protocol != PROTOCOL_VERSION {
            lab.unsupported(format!("protocol {}; the SDK implements {PROTOCOL_VERSION}", setup.protocol));
        }
        std::thread::spawn(move || {
            loop {
                let event = lab.read();
                let last = event == Event::Stop;
                on_event(event);
                if last {
                    return;
                }
            }
        });
        (lab, setup)
    }

    /// Reports that the contender does not support this role or these parameters, and exits. Call it before [`Lab::ready`].
    pub fn unsupported(&self, reason: impl ToString) -> ! {
        self.leave("unsupported", reason.to_string(), EXIT_UNSUPPORTED)
    }

    /// Reports an error and exits.
    pub fn failed(&self, reason: impl ToString) -> ! {
        self.leave("failed", reason.to_string(), EXIT_FAILED)
    }

    /// Reports that the role is ready to receive signals. `version` is that of the library; `runtime` is for example "tokio".
    pub fn ready(&self, name: &str, version: &str, runtime: &str) {
        let implementation =
            json!({ "name": name, "version": version, "language": "rust", "runtime": runtime });
        self.print(json!({ "type": "ready", "implementation": implementation }));
    }

    /// Sends a signal to the role `to`.
    pub fn signal(&self, to: &str, body: Value) {
        self.print(json!({ "type": "signal", "to": to, "body": body }));
    }

    /// Reports that all connections are established, with the setup time of each, in order of connection.
    pub fn connected(&self, setup_ns: &[u64]) {
        self.print(json!({ "type": "connected", "setup_ns": setup_ns }));
    }

    /// Answers a mark. Read the counters in the arguments of this call: the clock is read right after them.
    pub fn counters(&self, id: u64, values: &[(&str, u64)]) {
        let at_ns = now_ns();
        self.print(json!({ "type": "counters", "id": id, "at_ns": at_ns, "values": object(values) }));
    }

    /// Reports the data received in [`Phase::Verify`].
    pub fn verified(&self, digest: &Digest, messages: u64, bytes: u64) {
        let digest = digest.to_string();
        self.print(json!({ "type": "verified", "digest": digest, "messages": messages, "bytes": bytes }));
    }

    /// Reports the final counters.
    pub fn result(&self, values: &[(&str, u64)]) {
        self.result_with(values, &[]);
    }

    /// Reports the final counters and histograms (HDR V2 in base64).
    pub fn result_with(&self, values: &[(&str, u64)], histograms: &[(&str, String)]) {
        let histograms: Map<String, Value> =
            histograms.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        self.print(json!({ "type": "result", "values": object(values), "histograms": histograms }));
    }

    /// Returns a handle without reading a setup, for tests.
    pub fn for_tests() -> Self {
        Self(())
    }

    /// Reads the next line. An invalid line or the end of stdin ends the process.
    fn read<T: serde::de::DeserializeOwned>(&self) -> T {
        let mut line = Vec::new();
        match io::stdin().lock().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) => end(EXIT_FAILED),
            Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE_BYTES => {
                self.failed(format!("a line from the lab is longer than {MAX_LINE_BYTES} bytes"))
            }
            Ok(_) => serde_json::from_slice(&line)
                .unwrap_or_else(|error| self.failed(format!("invalid line from the lab: {error}"))),
            Err(error) => self.failed(format!("stdin: {error}")),
        }
    }

    fn print(&self, message: Value) {
        write_line(&mut io::stdout().lock(), &message);
    }

    /// Keeps stdout locked until the process ends, so that this is the last line.
    fn leave(&self, kind: &str, reason: String, code: i32) -> ! {
        let mut out = io::stdout().lock();
        write_line(&mut out, &json!({ "type": kind, "reason": reason }));
        end(code)
    }
}

fn object(values: &[(&str, u64)]) -> Map<String, Value> {
    values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

/// Ends the process if stdout is closed.
fn write_line(out: &mut impl Write, message: &Value) {
    let line = format!("{message}\n");
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        end(EXIT_FAILED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> Result<Event, serde_json::Error> {
        serde_json::from_str(line)
    }

    #[test]
    fn events_are_read_and_unknown_fields_ignored() {
        let rows = [
            (r#"{"type":"start","phase":"verify","x":{}}"#, Event::Start(Phase::Verify)),
            (r#"{"phase":"measure","type":"start"}"#, Event::Start(Phase::Measure)),
            (r#"{"type":"mark","id":7}"#, Event::Mark { id: 7 }),
            (r#"{"type":"stop","why":[1]}"#, Event::Stop),
            (
                r#"{"type":"signal","from":"a","body":[1,2]}"#,
                Event::Signal { from: "a".into(), body: json!([1, 2]) },
            ),
        ];
        for (line, wanted) in rows {
            assert_eq!(event(line).unwrap(), wanted, "{line}");
        }
    }

    #[test]
    fn invalid_lines_are_errors() {
        let second_setup = r#"{"type":"setup","protocol":1}"#;
        for line in ["", "{", "[]", r#"{"type":"pause"}"#, r#"{"type":"mark","id":-1}"#, second_setup] {
            assert!(event(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_setup_is_read() {
        let line = r#"{"type":"setup","protocol":1,"workload":"w","role":"r","seed":9007199254740991,
            "local":"127.0.0.1","peer":"::1","params":{"n":3,"s":0.5,"o":true,"t":"x"},
            "inputs":{"clip":"/a b"},"capture":false,"y":0}"#;
        let FirstLine::Setup(setup) = serde_json::from_str(line).unwrap();
        assert_eq!(setup.seed, (1 << 53) - 1);
        assert_eq!(setup.inputs["clip"], PathBuf::from("/a b"));
        assert_eq!(setup.local, IpAddr::from([127, 0, 0, 1]));
        assert_eq!((setup.params.int("n"), setup.params.float("s")), (3, 0.5));
        assert_eq!((setup.params.flag("o"), setup.params.text("t").as_str()), (true, "x"));
    }
}
