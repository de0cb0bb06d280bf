//! What a controller tells its application.

use crate::address::NodeAddress;
use crate::controller::request::{Answer, AnswerError, RequestId};
use crate::eoj::Eoj;
use crate::epc::Epc;

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ControllerEvent {
    /// A node is known now, is back, or has other instances than before.
    Found(NodeAddress),
    /// A node's profile and property maps are read, as far as it answered.
    Interviewed(NodeAddress),
    /// A node does not answer any more. It stays known, and is found again once it sends anything.
    Lost(NodeAddress),
    /// A request is over.
    Answer {
        /// Which.
        id: RequestId,
        /// The node that was asked.
        node: NodeAddress,
        /// What it answered.
        result: Result<Answer, AnswerError>,
    },
    /// A node told a value, unasked (INF, INFC) or since somebody asked it to.
    Pushed {
        /// The node.
        node: NodeAddress,
        /// The object.
        eoj: Eoj,
        /// The property.
        epc: Epc,
        /// Its value.
        value: Vec<u8>,
    },
}

/// What a controller counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ControllerStats {
    /// Requests sent, retries and parts of split ones included.
    pub sent: u64,
    /// Of these, sent again.
    pub retried: u64,
    /// Answers that were awaited.
    pub answered: u64,
    /// Requests that ended without an answer.
    pub timeouts: u64,
    /// Messages that the system would not send, searches and those of our own node among them.
    pub unsent: u64,
    /// Answers that nobody awaits: late, twice, or never asked for.
    pub unexpected: u64,
    /// Notifications that came twice.
    pub duplicates: u64,
    /// Messages that are no frames.
    pub malformed: u64,
    /// Nodes, instances and events that were dropped since a limit was reached.
    pub dropped: u64,
}
