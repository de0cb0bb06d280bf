//! Events and counters of a controller.

use crate::address::NodeAddress;
use crate::controller::request::{Answer, AnswerError, RequestId};
use crate::eoj::Eoj;
use crate::epc::Epc;

/// An event.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ControllerEvent {
    /// A node is new, present again, or has changed its instances.
    Found(NodeAddress),
    /// A node's profile and property maps have been read, as far as it answered.
    Interviewed(NodeAddress),
    /// A node no longer answers. It stays in the table, and counts as found when it next sends a message.
    Lost(NodeAddress),
    /// A request has ended.
    Answer {
        /// The request.
        id: RequestId,
        /// The node that it was sent to.
        node: NodeAddress,
        /// The result.
        result: Result<Answer, AnswerError>,
    },
    /// A node announced a value, on its own initiative (INF, INFC) or in response to INF_REQ.
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

/// Counters of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ControllerStats {
    /// Requests sent, including retries and the parts of split requests.
    pub sent: u64,
    /// Of these, retries.
    pub retried: u64,
    /// Answers to our requests.
    pub answered: u64,
    /// Requests that timed out.
    pub timeouts: u64,
    /// Messages that the system could not send, including searches and messages of our own node.
    pub unsent: u64,
    /// Unexpected answers: late, repeated, or never requested.
    pub unexpected: u64,
    /// Duplicate notifications.
    pub duplicates: u64,
    /// Malformed messages.
    pub malformed: u64,
    /// Nodes, instances and events dropped because of a limit.
    pub dropped: u64,
}
