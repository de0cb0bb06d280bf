//! What a user of a device may set.

use std::time::Duration;

/// Settings of a device, its limits among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceConfig {
    /// How long a write waits for the application's decision. Then it is refused. Below the patience of controllers:
    /// some wait for a second.
    pub decision_timeout: Duration,
    /// The same message to all, come again within this time from the same node, is a duplicate: one of another
    /// interface. Zero: none is.
    pub duplicate_window: Duration,
    /// Device objects.
    pub max_objects: usize,
    /// Requests whose writes wait for decisions. More are refused.
    pub max_waiting: usize,
    /// Requests to all instances of a class that are not answered by all yet. More are dropped.
    pub max_shared: usize,
    /// Events that are not polled. More are dropped, and writes that need a decision refused.
    pub max_events: usize,
}

impl Default for DeviceConfig {
    fn default() -> Self {
        Self {
            decision_timeout: Duration::from_millis(800),
            duplicate_window: Duration::from_millis(100),
            max_objects: 1024,
            max_waiting: 64,
            max_shared: 16,
            max_events: 1024,
        }
    }
}
