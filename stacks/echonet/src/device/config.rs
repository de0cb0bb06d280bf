//! Settings of a device.

use std::time::Duration;

use crate::limits::DATAGRAM_BYTES;

/// Settings and limits of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceConfig {
    /// How long a write waits for the application's decision before it is refused. Less than the timeout of
    /// controllers, some of which wait for a second.
    pub decision_timeout: Duration,
    /// A multicast message repeated by the same node within this time is a duplicate from another interface.
    /// Zero: no message is a duplicate.
    pub duplicate_window: Duration,
    /// The longest answer in a datagram, unless the request is longer. Values that do not fit are refused, and
    /// can be read with fewer properties or over TCP.
    pub datagram_bytes: usize,
    /// Messages of one node in a second; more cause [`DeviceEvent::Abuse`](crate::DeviceEvent::Abuse). They
    /// are handled nevertheless; a [`SourceLimit`](crate::SourceLimit) drops them.
    pub flood_per_s: u32,
    /// Device objects.
    pub max_objects: usize,
    /// Requests that wait for decisions on writes. Further ones are refused.
    pub max_waiting: usize,
    /// Unfinished requests to all instances of a class. Further ones are dropped.
    pub max_shared: usize,
    /// Events that are not yet polled. Further ones are dropped, and writes that need a decision are refused.
    pub max_events: usize,
}

impl Default for DeviceConfig {
    fn default() -> Self {
        Self {
            decision_timeout: Duration::from_millis(800),
            duplicate_window: Duration::from_millis(100),
            datagram_bytes: DATAGRAM_BYTES,
            flood_per_s: 1000,
            max_objects: 1024,
            max_waiting: 64,
            max_shared: 16,
            max_events: 1024,
        }
    }
}
