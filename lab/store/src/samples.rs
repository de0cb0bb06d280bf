//! The vocabulary of samples: fields of the meter, and the marks that stand for its readings.

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
