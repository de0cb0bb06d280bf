//! Events waiting to be polled.

use std::collections::VecDeque;

use super::streams::Stream;
use crate::types::StreamId;

/// Events of the sending half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutboundEvent {
    /// The buffered amount of the stream dropped to its low threshold.
    BufferedAmountLow(StreamId),
    /// There is space after a `WouldBlock`, with some margin beyond the refused message.
    Writable,
}

/// The queue of events: at most one per stream and one `Writable`.
#[derive(Debug, Default)]
pub(super) struct Events {
    low: VecDeque<StreamId>,
    writable: bool,
    /// Length of the shortest message that `send` has refused since the last `Writable`.
    refused: Option<usize>,
}

impl Events {
    /// The buffered amount of the stream has dropped to its threshold.
    pub(super) fn tell_low(&mut self, stream: &mut Stream) {
        if !std::mem::replace(&mut stream.low_told, true) {
            self.low.push_back(stream.id);
        }
    }

    /// A message of this length was refused.
    pub(super) fn refuse(&mut self, length: usize) {
        self.refused = Some(self.refused.map_or(length, |shortest| shortest.min(length)));
    }

    /// Length of the shortest refused message.
    pub(super) fn refused(&self) -> Option<usize> {
        self.refused
    }

    /// Whether a `Writable` event is owed to the application.
    pub(super) fn waits_for_room(&self) -> bool {
        self.refused.is_some() || self.writable
    }

    /// There is space for messages again.
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

    /// Releases the memory if no event is queued.
    pub(super) fn shrink(&mut self) {
        if self.low.is_empty() {
            self.low = VecDeque::new();
        }
    }
}
