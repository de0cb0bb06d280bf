//! The time.

/// The time, from the caller: the core has no clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970: what deadlines are kept in.
    pub unix_ms: u64,
    /// Microseconds of a clock that never goes back.
    pub monotonic_us: u64,
}
