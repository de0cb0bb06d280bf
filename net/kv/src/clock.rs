//! The time, read once a turn.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use netdyno_kv_core::Now;

/// Of one server: all its threads count from the same moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Both fit for some hundred thousand years.
        Now { unix_ms: unix.as_millis() as u64, monotonic_us: self.start.elapsed().as_micros() as u64 }
    }
}
