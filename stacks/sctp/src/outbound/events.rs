//! Events that wait to be polled.

use std::collections::VecDeque;

use super::OutboundEvent;
use super::streams::Stream;
use crate::types::StreamId;

/// The events. There is at most one for each stream, and one `Writable`.
#[derive(Debug, Default)]
pub(super) struct Events {
    low: VecDeque<StreamId>,
    writable: bool,
    /// A `send` was refused, and `Writable` was not told since.
    pub(super) blocked: bool,
}

impl Events {
    /// The buffered amount of the stream has fallen to its threshold.
    pub(super) fn tell_low(&mut self, stream: &mut Stream) {
        if !std::mem::replace(&mut stream.low_told, true) {
            self.low.push_back(stream.id);
        }
    }

    /// There is room for messages again.
    pub(super) fn tell_writable(&mut self) {
        self.blocked = false;
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
