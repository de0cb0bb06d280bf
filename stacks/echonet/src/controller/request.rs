//! What can be asked of a node, and what comes back.

use std::io::ErrorKind;

use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::frame::{PropertiesIter, Property};

/// Names a request from [`Controller::request`](crate::Controller::request) to its
/// [`Answer`](crate::ControllerEvent::Answer).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RequestId {
    pub(super) serial: u64,
    /// Where the node is kept.
    pub(super) slot: u32,
}

/// What is asked of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    /// Read properties (Get).
    Get(&'a [Epc]),
    /// Write properties (SetC).
    Set(&'a [Property<'a>]),
    /// Write properties and await no answer (SetI). It is done once it is sent; a refusal is not awaited. The only
    /// request that may go to all instances of a class.
    SetOnly(&'a [Property<'a>]),
    /// Write, then read (SetGet). Many devices do not know it: they are silent.
    SetGet {
        /// What is written.
        set: &'a [Property<'a>],
        /// What is read.
        get: &'a [Epc],
    },
    /// Have properties told to all (INF_REQ).
    Notify(&'a [Epc]),
}

/// Why a request was not taken.
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
    /// Instance 0 is answered by many, so that nobody knows when the answer is whole.
    #[error("{0} stands for all instances: ask each of them, or write without an answer")]
    AllInstances(Eoj),
    /// As many requests as allowed wait already.
    #[error("too many requests wait: poll their answers, or raise max_requests")]
    QueueFull,
    /// As many nodes as allowed are known already, and none of them can be forgotten.
    #[error("too many nodes are known: forget some, or raise max_nodes")]
    TooManyNodes,
}

/// What a node answered: values, and the properties that it refused.
///
/// A property of a SetC or SetGet that was written is in neither.
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

    /// The value of a property, if it was read. Looks through them.
    pub fn get(&self, epc: Epc) -> Option<&[u8]> {
        self.properties().find(|property| property.epc == epc).map(|property| property.edt)
    }

    /// Properties that could not be read, or told.
    pub fn refused(&self) -> &[Epc] {
        &self.refused
    }

    /// Properties that could not be written.
    pub fn refused_writes(&self) -> &[Epc] {
        &self.refused_writes
    }

    /// Whether all that was asked for was done.
    pub fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.refused_writes.is_empty()
    }

    /// Adds a value; says whether there was room.
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
    /// The node did not answer in time, retries included. What is written may have been done.
    #[error("the node did not answer in time: is it on, and the timeout long enough?")]
    Timeout,
    /// The system would not send it: there is no way to the node, or it is forbidden.
    #[error(
        "the request could not be sent ({0}): is this machine on the node's network, and does the controller speak its IP version?"
    )]
    Unsent(ErrorKind),
    /// No TCP connection to the node could be made in time, or it ended before the answer came, as often as that was tried.
    /// What is written may have been done.
    #[error("no TCP connection to the node, or it ended without an answer: is it on, and does it speak TCP?")]
    Unreachable,
    /// The application cancelled it, or forgot the node.
    #[error("the request was cancelled")]
    Cancelled,
    /// The parts of the answer are longer than `max_answer_bytes`, or the request than the buffer that it is sent from, or than
    /// `max_datagram_bytes` where it was to go by TCP and there is none.
    #[error("the answer is longer than max_answer_bytes, or the request than what it can be sent in")]
    TooLong,
}
