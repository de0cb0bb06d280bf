//! The time.

/// The time, provided by the caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Unix time in milliseconds, used for deadlines.
    pub unix_ms: u64,
    /// Microseconds of a monotonic clock.
    pub monotonic_us: u64,
}
