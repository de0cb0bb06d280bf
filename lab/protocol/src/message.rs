//! The messages in both directions, one JSON object per line.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::limits::{
    COUNTERS_MAX, HISTOGRAMS_MAX, LINE_BYTES_MAX, NAME_BYTES_MAX, SETUP_DURATIONS_MAX, VALUE_MAX,
};

/// The supported version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// A phase of a trial with traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A fixed number of messages, with every byte checked.
    Verify,
    /// Traffic that is not measured.
    Warmup,
    /// Measured traffic.
    Measure,
}

/// The configuration of a role; always the first line it reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setup {
    /// Version of this protocol.
    pub protocol: u32,
    /// Name of the workload.
    pub workload: String,
    /// Name of the role.
    pub role: String,
    /// Seed of the payload; below 2^53.
    pub seed: u64,
    /// Address to bind.
    pub local: IpAddr,
    /// Address of the other role.
    pub peer: IpAddr,
    /// The workload's parameters, typed.
    pub params: serde_json::Map<String, serde_json::Value>,
    /// Paths of the generated input files, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// Reserved; always false.
    pub capture: bool,
}

/// A message from the lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LabMessage {
    /// Configuration.
    Setup(Setup),
    /// Forwarded verbatim from another role.
    Signal {
        /// The role that sent it.
        from: String,
        /// What it sent.
        body: serde_json::Value,
    },
    /// Start a phase.
    Start {
        /// The phase.
        phase: Phase,
    },
    /// Reply with `counters` immediately.
    Mark {
        /// Returned in the reply.
        id: u64,
    },
    /// Finish, send `result`, exit with code 0.
    Stop,
}

impl LabMessage {
    /// The line to write, without its newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("the lab's messages hold nothing that JSON cannot")
    }
}

/// The library under test, as reported by the role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Implementation {
    /// Name of the library.
    pub name: String,
    /// Its version, determined at build or run time.
    pub version: String,
    /// Programming language.
    pub language: String,
    /// Language runtime and its version.
    pub runtime: String,
}

/// The reply to `mark`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// The mark's id.
    pub id: u64,
    /// When the counters were read, in ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The workload's counters.
    pub values: BTreeMap<String, u64>,
}

/// The result of `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verified {
    /// XOR of the SHA-256 of each message, 64 hex digits.
    pub digest: String,
    /// Messages received.
    pub messages: u64,
    /// Bytes received.
    pub bytes: u64,
}

/// Final counters and histograms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialResult {
    /// Counters at the end.
    pub values: BTreeMap<String, u64>,
    /// HDR V2 histograms, base64.
    #[serde(default)]
    pub histograms: BTreeMap<String, String>,
}

/// A message from a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ContenderMessage {
    /// The role, workload or parameters are not supported: a skip.
    Unsupported {
        /// The reason.
        reason: String,
    },
    /// Set up; signals may follow.
    Ready {
        /// The library under test.
        implementation: Implementation,
    },
    /// A body to forward.
    Signal {
        /// The receiving role.
        to: String,
        /// The body.
        body: serde_json::Value,
    },
    /// Every connection is established.
    Connected {
        /// Setup time of each connection, in ns.
        setup_ns: Vec<u64>,
    },
    /// The reply to a mark.
    Counters(Counters),
    /// The end of `verify`.
    Verified(Verified),
    /// The end of the trial.
    Result(TrialResult),
    /// The role cannot continue.
    Failed {
        /// The reason.
        reason: String,
    },
}

impl ContenderMessage {
    /// The line to write, without its newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a contender's messages hold nothing that JSON cannot")
    }

    /// Name of the message, as in `type`.
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

/// Parses a line of a contender.
///
/// The error describes the contender's fault.
pub fn parse_contender_line(line: &str) -> Result<ContenderMessage, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("a line of {} bytes; at most {LINE_BYTES_MAX} are allowed", line.len()));
    }
    let message: ContenderMessage = serde_json::from_str(line)
        .map_err(|e| format!("not a message of the protocol: {e}: {}", excerpt(line)))?;
    check_limits(&message)?;
    Ok(message)
}

fn check_limits(message: &ContenderMessage) -> Result<(), String> {
    match message {
        ContenderMessage::Connected { setup_ns } if setup_ns.len() > SETUP_DURATIONS_MAX => {
            Err(format!("{} setup durations; at most {SETUP_DURATIONS_MAX} are allowed", setup_ns.len()))
        }
        ContenderMessage::Connected { setup_ns } => check_values(setup_ns.iter()),
        ContenderMessage::Counters(c) => {
            check_values(c.values.values().chain([&c.at_ns]))?;
            check_names("counters", COUNTERS_MAX, &c.values)
        }
        ContenderMessage::Result(r) => {
            check_values(r.values.values())?;
            check_names("counters", COUNTERS_MAX, &r.values)?;
            check_names("histograms", HISTOGRAMS_MAX, &r.histograms)
        }
        ContenderMessage::Verified(v)
            if v.digest.len() != 64 || !v.digest.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            Err(format!("verified.digest is not 64 hex digits: {}", excerpt(&v.digest)))
        }
        _ => Ok(()),
    }
}

fn check_values<'a>(mut values: impl Iterator<Item = &'a u64>) -> Result<(), String> {
    match values.find(|v| **v > VALUE_MAX) {
        Some(v) => Err(format!("{v} exceeds the limit of {VALUE_MAX} (did a counter fall below 0?)")),
        None => Ok(()),
    }
}

fn check_names<V>(what: &str, most: usize, named: &BTreeMap<String, V>) -> Result<(), String> {
    if named.len() > most {
        return Err(format!("{} {what}; at most {most} are allowed", named.len()));
    }
    match named.keys().find(|name| name.len() > NAME_BYTES_MAX) {
        Some(n) => Err(format!("a name of {} bytes among the {what}; at most {NAME_BYTES_MAX}", n.len())),
        None => Ok(()),
    }
}

/// The start of a text, for error messages.
fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 80;
    let mut out: String = text.chars().take(CHARACTERS).flat_map(char::escape_debug).collect();
    if text.chars().nth(CHARACTERS).is_some() {
        out.push_str("...");
    }
    out
}

/// The JSON Schemas of [`LabMessage`] and [`ContenderMessage`].
#[cfg(feature = "schema")]
pub fn schemas() -> [schemars::Schema; 2] {
    [schemars::schema_for!(LabMessage), schemars::schema_for!(ContenderMessage)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row: the line, and the name of the message or a part of the error.
    fn check(line: &str, expected: Result<&str, &str>) {
        match (parse_contender_line(line), expected) {
            (Ok(m), Ok(name)) => assert_eq!(m.name(), name, "{line}"),
            (Err(e), Err(part)) => assert!(e.contains(part), "{line}: {e}"),
            (got, want) => panic!("{line}: got {got:?}, want {want:?}"),
        }
    }

    #[test]
    fn contender_lines() {
        let zeros = "0".repeat(64);
        check(r#"{"type":"unsupported","reason":"no"}"#, Ok("unsupported"));
        check(
            r#"{"type":"ready","implementation":{"name":"x","version":"1","language":"c","runtime":"","new":1}}"#,
            Ok("ready"),
        );
        check(r#"{"type":"connected","setup_ns":[1,2]}"#, Ok("connected"));
        check(r#"{"type":"connected","setup_ns":[18446744073709551615]}"#, Err("fall below 0"));
        check(r#"{"type":"result","values":{"messages":9223372036854775808}}"#, Err("fall below 0"));
        check(r#"{"type":"counters","id":1,"at_ns":9223372036854775808,"values":{}}"#, Err("fall below 0"));
        check(r#"{"type":"connected","setup_ns":[1.5]}"#, Err("expected u64"));
        check(r#"{"type":"connected","setup_ns":[-1]}"#, Err("expected u64"));
        check(r#"{"type":"signal","to":"a","body":null}"#, Ok("signal"));
        check(r#"{"type":"counters","id":1,"at_ns":2,"values":{"messages":3}}"#, Ok("counters"));
        check(r#"{"type":"counters","id":1,"values":{}}"#, Err("at_ns"));
        check(&format!(r#"{{"type":"verified","digest":"{zeros}","messages":0,"bytes":0}}"#), Ok("verified"));
        check(r#"{"type":"verified","digest":"00","messages":0,"bytes":0}"#, Err("64 hex digits"));
        check(r#"{"type":"result","values":{}}"#, Ok("result"));
        check(r#"{"type":"result","values":{},"unknown":true}"#, Ok("result"));
        check(r#"{"type":"hello"}"#, Err("unknown variant `hello`"));
        check("{", Err("not a message"));
        check("", Err("not a message"));
        check("[]", Err("not a message"));
        check(
            &format!(r#"{{"type":"failed","reason":"{}"}}"#, "x".repeat(LINE_BYTES_MAX)),
            Err("at most 1048576"),
        );
    }

    #[test]
    fn too_many_of_anything_is_refused() {
        let many: BTreeMap<String, u64> = (0..=COUNTERS_MAX as u64).map(|i| (format!("c{i}"), i)).collect();
        let counters = ContenderMessage::Counters(Counters { id: 0, at_ns: 0, values: many });
        check(&counters.to_line(), Err("257 counters"));
        let named = BTreeMap::from([("n".repeat(NAME_BYTES_MAX + 1), 1)]);
        let result = ContenderMessage::Result(TrialResult { values: named, ..TrialResult::default() });
        check(&result.to_line(), Err("a name of 129 bytes"));
    }
}
