//! The time, read once per iteration.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use netdyno_kv_core::Timestamp;

/// Shared by all threads of a server, so that they have one origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Both fit for several hundred thousand years.
        Timestamp { unix_ms: unix.as_millis() as u64, monotonic_us: self.start.elapsed().as_micros() as u64 }
    }
}
