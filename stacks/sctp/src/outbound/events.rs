//! Events that wait to be polled.

use std::collections::VecDeque;

use super::streams::Stream;
use crate::types::StreamId;

/// What the layer above may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutboundEvent {
    /// The buffered amount of the stream fell to its low threshold.
    BufferedAmountLow(StreamId),
    /// After a `WouldBlock` there is room again: for the message that was refused, and not just for that.
    Writable,
}

/// The events. There is at most one for each stream, and one `Writable`.
#[derive(Debug, Default)]
pub(super) struct Events {
    low: VecDeque<StreamId>,
    writable: bool,
    /// Length of the shortest message that `send` has refused since `Writable` was told.
    refused: Option<usize>,
}

impl Events {
    /// The buffered amount of the stream has fallen to its threshold.
    pub(super) fn tell_low(&mut self, stream: &mut Stream) {
        if !std::mem::replace(&mut stream.low_told, true) {
            self.low.push_back(stream.id);
        }
    }

    /// There was no room for a message of this length.
    pub(super) fn refuse(&mut self, length: usize) {
        self.refused = Some(self.refused.map_or(length, |shortest| shortest.min(length)));
    }

    /// Length of the shortest message for which there was no room.
    pub(super) fn refused(&self) -> Option<usize> {
        self.refused
    }

    /// Whether somebody has yet to hear that there is room.
    pub(super) fn waits_for_room(&self) -> bool {
        self.refused.is_some() || self.writable
    }

    /// There is room for messages again.
    pub(super) fn tell_writable(&mut self) {
        self.refused = None;
        self.writable = true;
    }

    pub(super) fn pop(&mut self) -> Option<OutboundEvent> {
        if std::mem::take(&mut self.writable) {
            return Some(OutboundEvent::Writable);
        }
        self.low.pop_front().map(OutboundEvent::BufferedAmountLow)
    }

    /// Gives the memory back, if none waits.
    pub(super) fn shrink(&mut self) {
        if self.low.is_empty() {
            self.low = VecDeque::new();
        }
    }
}
