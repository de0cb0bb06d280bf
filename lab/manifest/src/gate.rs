//! The correctness gate: what the receiving role must report at the end of `verify`, computed independently of the
//! roles. See "The payload" in `contenders/PROTOCOL.md`.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::limits::{GATE_BYTES_MAX, SEED_MAX};
use super::params::{Specs, kind_of};
use super::read::Problems;
use super::{InputSpec, ManifestError, ParamKind, Params};

/// Length of a message's header in bytes. Shorter messages have none.
const HEADER_BYTES: usize = 16;
/// Block size of SHA-256. A shorter message costs as much as one of this length.
const HASH_BLOCK_BYTES: u64 = 64;

/// A workload's correctness gate.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The role that sends `verified`.
    pub role: String,
    /// The roles that report a setup time for each connection; empty: all roles.
    #[serde(default)]
    pub setups: Vec<String>,
    /// The number of connections.
    pub streams: Amount,
    /// The number of messages on each connection.
    pub messages: Option<Amount>,
    /// The length of a message.
    pub message_bytes: Option<Amount>,
    /// The input whose generator computes `verified`, if it does not follow from the seed.
    pub input: Option<String>,
    /// Counters of that role's result that must be 0.
    #[serde(default)]
    pub zero: Vec<String>,
    /// Counters that must be 0 if a boolean parameter is true.
    #[serde(default)]
    pub zero_if: IndexMap<String, Vec<String>>,
    /// Counters that may decrease, such as gaps that are filled by late messages.
    #[serde(default = "settling_default")]
    pub settling: Vec<String>,
    /// Counters of that role's result that must not exceed another role's.
    #[serde(default)]
    pub at_most: Vec<AtMost>,
    /// The counter of that role, in bytes, that the network counters must reach.
    pub carried: Option<String>,
}

/// A constant, or the name of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "must be a whole number or the name of a parameter")]
pub enum Amount {
    /// This number.
    Fixed(u32),
    /// The parameter of this name.
    Param(String),
}

impl Amount {
    /// The number for these parameters.
    pub fn of(&self, params: &Params) -> Option<u64> {
        match self {
            Self::Fixed(number) => Some(u64::from(*number)),
            Self::Param(name) => params.count(name),
        }
    }

    fn name(&self) -> Option<&str> {
        if let Self::Param(name) = self { Some(name) } else { None }
    }
}

/// A counter of the gate's role is at most another role's counter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtMost {
    /// The counter, of both roles.
    pub counter: String,
    /// The other role.
    pub of: String,
    /// Parameters whose product is the permitted excess, such as messages that are sent but not yet counted.
    #[serde(default)]
    pub slack: Vec<String>,
}

impl AtMost {
    /// The permitted excess over the other role's counter.
    pub fn slack(&self, params: &Params) -> u64 {
        if self.slack.is_empty() { 0 } else { params.product(&self.slack) }
    }
}

/// The expected content of `verified`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// The XOR of the messages' SHA-256, as 64 lower-case hex digits.
    pub digest: String,
    /// The number of messages, over all connections.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Gate {
    /// The expected result of the gate's role for these parameters and this seed, if no input defines it.
    pub fn expected(&self, params: &Params, seed: u64) -> Result<Expected, ManifestError> {
        if seed > SEED_MAX {
            return Err(refused("seed", format!("{seed} does not fit in 53 bits")));
        }
        let streams = narrow(params, "gate.streams", Some(&self.streams))?;
        let messages = u64::from(narrow(params, "gate.messages", self.messages.as_ref())?);
        let length = narrow(params, "gate.message_bytes", self.message_bytes.as_ref())? as usize;
        let count = u64::from(streams) * messages;
        let work = count.checked_mul((length as u64).max(HASH_BLOCK_BYTES));
        if work.is_none_or(|work| work > GATE_BYTES_MAX) {
            let rule = format!(
                "{streams} connections of {messages} messages of {length} bytes are more than the {GATE_BYTES_MAX} \
                 bytes that the gate checks; use a smaller value"
            );
            let name = self.messages.as_ref().and_then(Amount::name);
            return Err(refused(name.unwrap_or("gate.messages"), rule));
        }
        let mut digest = [0u8; 32];
        let mut message = vec![0u8; length];
        for stream in 0..streams {
            for sequence in 0..messages {
                write_message(&mut message, seed, stream, sequence);
                for (sum, byte) in digest.iter_mut().zip(Sha256::digest(&message)) {
                    *sum ^= byte;
                }
            }
        }
        Ok(Expected { digest: hex(&digest), messages: count, bytes: count * length as u64 })
    }

    /// Whether a role must report a setup time for each connection.
    pub fn wants_setups(&self, role: &str) -> bool {
        self.setups.is_empty() || self.setups.iter().any(|r| r == role)
    }

    /// The counters of the role's result that must be 0 with these parameters.
    pub fn zero_counters(&self, params: &Params) -> Vec<&str> {
        let conditional = self.zero_if.iter().filter(|(name, _)| params.boolean(name) == Some(true));
        self.zero.iter().chain(conditional.flat_map(|(_, counters)| counters)).map(String::as_str).collect()
    }

    pub(super) fn check(
        &self,
        roles: &[String],
        params: &Specs,
        inputs: &IndexMap<String, InputSpec>,
        problems: &mut Problems,
    ) {
        problems.known("gate.role", "role", &self.role, roles);
        for (i, role) in self.setups.iter().enumerate() {
            problems.known(&format!("gate.setups[{i}]"), "role", role, roles);
        }
        if let Some(input) = &self.input {
            problems.known("gate.input", "input", input, inputs.keys());
        }
        let counts = [
            ("streams", Some(&self.streams)),
            ("messages", self.messages.as_ref()),
            ("message_bytes", self.message_bytes.as_ref()),
        ];
        for (field, amount) in counts {
            let is_told = self.input.is_some() && field != "streams";
            let told = "the input provides it: omit it";
            let rule = if is_told { told } else { "missing, and no input provides it" };
            problems.require(amount.is_some() != is_told, format!("gate.{field}"), rule);
            if let Some(Amount::Param(name)) = amount {
                kind_of(&format!("gate.{field}"), name, ParamKind::Integer, params, problems);
            }
        }
        for (i, bound) in self.at_most.iter().enumerate() {
            problems.known(&format!("gate.at_most[{i}].of"), "role", &bound.of, roles);
            for name in &bound.slack {
                kind_of(&format!("gate.at_most[{i}].slack"), name, ParamKind::Integer, params, problems);
            }
        }
        for name in self.zero_if.keys() {
            kind_of(&format!("gate.zero_if.{name}"), name, ParamKind::Boolean, params, problems);
        }
    }
}

fn narrow(params: &Params, field: &str, amount: Option<&Amount>) -> Result<u32, ManifestError> {
    let value = amount.and_then(|amount| amount.of(params)).and_then(|n| u32::try_from(n).ok());
    let rule = || "the gate needs a whole number from 0 to 4294967295".to_owned();
    value.ok_or_else(|| refused(amount.and_then(Amount::name).unwrap_or(field), rule()))
}

fn settling_default() -> Vec<String> {
    vec!["gaps".to_owned()]
}

/// Writes the header and body of one message of `verify`.
fn write_message(message: &mut [u8], seed: u64, stream: u32, sequence: u64) {
    let body = match message.split_first_chunk_mut::<HEADER_BYTES>() {
        Some((header, body)) => {
            header[..8].copy_from_slice(&sequence.to_be_bytes());
            header[8..12].copy_from_slice(&stream.to_be_bytes());
            header[12..].fill(0);
            body
        }
        None => message,
    };
    let mut input = [0u8; 24];
    input[..8].copy_from_slice(&seed.to_be_bytes());
    input[8..12].copy_from_slice(&stream.to_be_bytes());
    input[12..20].copy_from_slice(&sequence.to_be_bytes());
    for (j, chunk) in (0u32..).zip(body.chunks_mut(32)) {
        input[20..].copy_from_slice(&j.to_be_bytes());
        let block = Sha256::digest(input);
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
}

/// Bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn refused(name: &str, rule: String) -> ManifestError {
    ManifestError::Value { name: name.to_owned(), rule }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_the_protocols_test_vector() {
        let mut message = [0xff; 80];
        write_message(&mut message, 1, 2, 3);
        let digest = hex(&Sha256::digest(message));
        assert_eq!(digest, "8eb1afe42c57d17ba06d68c55ccc9b69eb98f1693ceb3e94f624dc95c7ccb2fe");
        let mut short = [0xff; 3];
        write_message(&mut short, 1, 2, 3);
        assert_eq!(short, [0xf9, 0x30, 0xea]);
    }
}
