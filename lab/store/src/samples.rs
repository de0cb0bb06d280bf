//! One sample, and the vocabulary of samples: fields of the meter, and the marks that stand for its readings.

use serde::{Deserialize, Serialize};

/// Meter field: CPUs the role may use.
pub const CPUS_ALLOWED: &str = "cpus_allowed";
/// Prefix of the wire's fields among a meter's: bytes become `wire_bytes`.
pub const WIRE_PREFIX: &str = "wire_";
/// Meter field: 1 when all roles read the same wire, 0 when each reads its side.
pub const WIRE_SHARED: &str = "shared_wire";
/// Mark of the meter's reading at the start of the measured window.
pub const METER_BEGIN: u64 = 0;
/// Mark of the meter's reading at its end.
pub const METER_END: u64 = 1;
/// Mark of the meter's reading when every role is connected, where a metric asks for it: above those of every turn.
pub const METER_CONNECTED: u64 = METER_DEEP - 2;
/// Mark of its reading when `verify` is over.
pub const METER_VERIFIED: u64 = METER_DEEP - 1;
/// Mark of the meter's thorough reading after everything (PSS, private memory): above every other.
pub const METER_DEEP: u64 = 1 << 32;

/// One number; in JSON a list of its fields in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "SampleFields", into = "SampleFields")]
pub struct Sample {
    /// Whose.
    pub role: String,
    /// Where it came from.
    pub kind: SampleKind,
    /// The mark's id; the connection's number for a setup time.
    pub mark: u64,
    /// When, in ns of `CLOCK_MONOTONIC` of the role's host.
    pub at_ns: u64,
    /// Name of the counter, or field of the meter.
    pub name: String,
    /// The value; none when it was not measured.
    pub value: Option<u64>,
    /// Who says so, or why there is none.
    pub source: String,
}

/// A sample as JSON has it: role, kind, mark, at_ns, name, value, source.
type SampleFields = (String, SampleKind, u64, u64, String, Option<u64>, String);

impl From<SampleFields> for Sample {
    fn from((role, kind, mark, at_ns, name, value, source): SampleFields) -> Sample {
        Sample { role, kind, mark, at_ns, name, value, source }
    }
}

impl From<Sample> for SampleFields {
    fn from(s: Sample) -> SampleFields {
        (s.role, s.kind, s.mark, s.at_ns, s.name, s.value, s.source)
    }
}

/// Where a sample came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampleKind {
    /// A contender's answer to a mark.
    Counter,
    /// The lab's meter.
    Meter,
    /// A connection's setup time.
    Setup,
    /// A contender's final counters.
    Result,
}

impl SampleKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            SampleKind::Counter => "counter",
            SampleKind::Meter => "meter",
            SampleKind::Setup => "setup",
            SampleKind::Result => "result",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<SampleKind> {
        [SampleKind::Counter, SampleKind::Meter, SampleKind::Setup, SampleKind::Result]
            .into_iter()
            .find(|k| k.as_str() == text)
    }
}
