//! Events, decisions and counters of a device.

use std::io::ErrorKind;

use crate::address::{Destination, NodeAddress};
use crate::eoj::Eoj;
use crate::epc::Epc;

/// A write that waits for the application's decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WriteId(pub(crate) u64);

/// A decision on a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The property takes the new value.
    Accept,
    /// The property keeps its value, and the writer receives a refusal.
    Refuse,
}

/// An event of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DeviceEvent {
    /// Another node wrote a property; [`Device::get`](crate::Device::get) returns its value.
    Written {
        /// The writer.
        from: NodeAddress,
        /// The object.
        eoj: Eoj,
        /// The property.
        epc: Epc,
    },
    /// Another node wants to write a property: call [`Device::decide`](crate::Device::decide). Without a
    /// decision in time, the write is refused.
    WriteRequested {
        /// Identifies the write.
        id: WriteId,
        /// The writer.
        from: NodeAddress,
        /// The object.
        eoj: Eoj,
        /// The property.
        epc: Epc,
        /// The new value.
        value: Vec<u8>,
    },
    /// A node exceeded a limit. Each kind is reported at most once a second; [`DeviceStats`] counts all.
    Abuse {
        /// The source address, which may be forged in a datagram.
        from: NodeAddress,
        /// The limit.
        kind: AbuseKind,
    },
    /// An answer or a notification could not be sent, for a lasting reason.
    Unsent {
        /// Its destination.
        to: Destination,
        /// The reason.
        error: ErrorKind,
    },
}

/// A limit that another node exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AbuseKind {
    /// More than [`DeviceConfig::flood_per_s`](crate::DeviceConfig::flood_per_s) messages in a second.
    Flood,
    /// The node has the most TCP connections, and there are too many: one was closed.
    Connections,
    /// A request from beyond the link, which was ignored.
    OffLink,
    /// A source exceeded its [`SourceLimit`](crate::SourceLimit): a datagram was dropped.
    Limited,
}

/// Why a value from the application was rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// The node has no such object.
    #[error("the node has no object {0}")]
    NoObject(Eoj),
    /// The object has no such property.
    #[error("the object has no property {0}")]
    NoProperty(Epc),
    /// The property is computed.
    #[error("property {0} is computed from the description")]
    Computed(Epc),
    /// The description does not allow this length.
    #[error("property {epc} cannot have {bytes} bytes: its description does not allow this length")]
    Length {
        /// The property.
        epc: Epc,
        /// Bytes of the value.
        bytes: usize,
    },
}

/// Counters of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct DeviceStats {
    /// Requests that were executed.
    pub requests: u64,
    /// Of these, refused at least in part.
    pub refused: u64,
    /// Malformed messages.
    pub malformed: u64,
    /// Requests from beyond the link, which were ignored.
    pub off_link: u64,
    /// Datagrams dropped because their source exceeded its [`SourceLimit`](crate::SourceLimit).
    pub limited: u64,
    /// Frames for objects that the node does not have, or that are not requests.
    pub ignored: u64,
    /// Requests dropped because of a limit, and events dropped because the queue was full.
    pub dropped: u64,
    /// TCP connections closed to admit new ones.
    pub evicted: u64,
    /// Messages that the system could not send.
    pub unsent: u64,
}
