//! Requests to a node, and their answers.

use std::io::ErrorKind;

use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::frame::{PropertiesIter, Property};

/// Identifies a request, from [`Controller::request`](crate::Controller::request) to its
/// [`Answer`](crate::ControllerEvent::Answer).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RequestId {
    pub(super) serial: u64,
    /// The slot of the node.
    pub(super) slot: u32,
}

/// A request to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    /// Read properties (Get).
    Get(&'a [Epc]),
    /// Write properties (SetC).
    Set(&'a [Property<'a>]),
    /// Write properties without an answer (SetI). The request is complete once it is sent; refusals are
    /// ignored. Only this request may address all instances of a class.
    SetOnly(&'a [Property<'a>]),
    /// Write, then read (SetGet). Many devices do not support it and do not answer.
    SetGet {
        /// The properties to write.
        set: &'a [Property<'a>],
        /// The properties to read.
        get: &'a [Epc],
    },
    /// Have properties announced to all nodes (INF_REQ).
    Notify(&'a [Epc]),
}

/// Why a request was rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No property is named.
    #[error("a request needs at least one property")]
    Empty,
    /// It does not fit a datagram, or has more than 255 properties, or a value of more than 255 bytes.
    #[error(
        "the request has more than 255 properties, a value of more than 255 bytes, or more bytes than max_datagram_bytes: use several, or TCP"
    )]
    TooLong,
    /// Several instances answer a request to instance 0, and the end of their answers is unknown.
    #[error("{0} addresses all instances: send a request to each, or write without an answer")]
    AllInstances(Eoj),
    /// The limit on requests is reached.
    #[error("too many requests: poll their answers, or raise max_requests")]
    QueueFull,
    /// The limit on nodes is reached, and no node can be evicted.
    #[error("too many nodes are known: forget some, or raise max_nodes")]
    TooManyNodes,
}

/// A node's answer: values, and the properties that it refused.
///
/// Written properties of a SetC or SetGet are in neither list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// As in a frame: EPC, PDC, EDT.
    bytes: Vec<u8>,
    count: usize,
    pub(super) refused: Vec<Epc>,
    pub(super) refused_writes: Vec<Epc>,
}

impl Answer {
    /// The properties that were read, in the order in which they came.
    pub fn properties(&self) -> impl Iterator<Item = Property<'_>> {
        PropertiesIter::over(&self.bytes, self.count)
    }

    /// The value of a property, if it was read. The search is linear.
    pub fn get(&self, epc: Epc) -> Option<&[u8]> {
        self.properties().find(|property| property.epc == epc).map(|property| property.edt)
    }

    /// Properties that could not be read or announced.
    pub fn refused(&self) -> &[Epc] {
        &self.refused
    }

    /// Properties that could not be written.
    pub fn refused_writes(&self) -> &[Epc] {
        &self.refused_writes
    }

    /// Whether the request was carried out in full.
    pub fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.refused_writes.is_empty()
    }

    /// Adds a value; returns whether it fitted.
    pub(super) fn add(&mut self, property: &Property<'_>, max_bytes: usize) -> bool {
        let Ok(pdc) = u8::try_from(property.edt.len()) else { return false };
        if self.bytes.len() + 2 + property.edt.len() > max_bytes {
            return false;
        }
        self.bytes.reserve(2 + property.edt.len());
        self.bytes.extend([property.epc.0, pdc]);
        self.bytes.extend_from_slice(property.edt);
        self.count += 1;
        true
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The node did not answer in time, retries included. Writes may have been executed.
    #[error("the node did not answer in time: check that it is on, or raise the timeout")]
    Timeout,
    /// The system could not send it: there is no route to the node, or sending is forbidden.
    #[error(
        "the request could not be sent ({0}): check that this machine is on its network, and that the controller uses its IP version"
    )]
    Unsent(ErrorKind),
    /// No TCP connection to the node could be established in time, or it ended before the answer, for all
    /// retries. Writes may have been executed.
    #[error(
        "no TCP connection to the node, or it ended without an answer: check that it is on and supports TCP"
    )]
    Unreachable,
    /// The application cancelled it, or removed the node.
    #[error("the request was cancelled")]
    Cancelled,
    /// The answer is longer than `max_answer_bytes`; or the request is longer than the send buffer, or than
    /// `max_datagram_bytes` after the fallback from TCP.
    #[error("the answer is longer than max_answer_bytes, or the request is longer than the transport allows")]
    TooLong,
}
