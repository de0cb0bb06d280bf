//! What a device tells its application, and is told.

use std::io::ErrorKind;

use crate::address::{Destination, NodeAddress};
use crate::eoj::Eoj;
use crate::epc::Epc;

/// A write that waits for the application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WriteId(pub(crate) u64);

/// What becomes of a write that the application was asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The property has the value now.
    Accept,
    /// The property keeps the one that it has, and who wrote is told.
    Refuse,
}

/// What happened at a device.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DeviceEvent {
    /// Somebody wrote a property; [`Device::get`](crate::Device::get) has its value.
    Written {
        /// Who.
        from: NodeAddress,
        /// The object.
        eoj: Eoj,
        /// The property.
        epc: Epc,
    },
    /// Somebody wants to write a property: [`Device::decide`](crate::Device::decide). Without a decision in time it is
    /// refused.
    WriteRequested {
        /// To decide with.
        id: WriteId,
        /// Who.
        from: NodeAddress,
        /// The object.
        eoj: Eoj,
        /// The property.
        epc: Epc,
        /// What it is to become.
        value: Vec<u8>,
    },
    /// What the node had to say could not be sent, for a reason that lasts: an answer, or what is told to all.
    Unsent {
        /// To whom.
        to: Destination,
        /// Why.
        error: ErrorKind,
    },
}

/// Why the application's own value was not taken.
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
    /// The description allows other lengths.
    #[error("property {epc} cannot have {bytes} bytes: its description says which lengths it may have")]
    Length {
        /// The property.
        epc: Epc,
        /// Bytes of the value.
        bytes: usize,
    },
}

/// What a device counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct DeviceStats {
    /// Requests that were answered or done.
    pub requests: u64,
    /// Of these, refused in part or whole.
    pub refused: u64,
    /// Messages that are no frames.
    pub malformed: u64,
    /// Frames for objects that the node does not have, or that are no requests.
    pub ignored: u64,
    /// Requests that were dropped since a limit was reached, and events that nobody took in time.
    pub dropped: u64,
    /// Messages that the system would not send.
    pub unsent: u64,
}
