//! Samples and their vocabulary: meter fields, and marks for meter readings.

use serde::{Deserialize, Serialize};

/// Meter field: number of CPUs the role may use.
pub const CPUS_ALLOWED: &str = "cpus_allowed";
/// Prefix of network counters among meter fields: `bytes` becomes `wire_bytes`.
pub const WIRE_PREFIX: &str = "wire_";
/// Meter field: 1 if all roles read the same network counters, 0 if each reads its side.
pub const WIRE_SHARED: &str = "shared_wire";
/// Mark of the meter reading at the start of the measured window.
pub const METER_BEGIN: u64 = 0;
/// Mark of the meter reading at its end.
pub const METER_END: u64 = 1;
/// Mark of the meter reading when every role is connected, if a metric needs it; above those of all turns.
pub const METER_CONNECTED: u64 = METER_DEEP - 2;
/// Mark of the meter reading at the end of `verify`.
pub const METER_VERIFIED: u64 = METER_DEEP - 1;
/// Mark of the deep meter reading at the end (PSS, private memory); above all others.
pub const METER_DEEP: u64 = 1 << 32;

/// A number with its origin; in JSON an array of its fields in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "SampleFields", into = "SampleFields")]
pub struct Sample {
    /// The role.
    pub role: String,
    /// The origin.
    pub kind: SampleKind,
    /// The mark's id, or the connection's number for a setup time.
    pub mark: u64,
    /// The time, in ns of `CLOCK_MONOTONIC` of the role's host.
    pub at_ns: u64,
    /// Name of the counter or meter field.
    pub name: String,
    /// The value; none if it was not measured.
    pub value: Option<u64>,
    /// The source, or why there is no value.
    pub source: String,
}

/// A sample in JSON: role, kind, mark, at_ns, name, value, source.
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

/// The origin of a sample.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumString,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SampleKind {
    /// A counter in a contender's reply to a mark.
    Counter,
    /// A meter reading.
    Meter,
    /// The setup time of a connection.
    Setup,
    /// A final counter of a contender.
    Result,
}
