//! Events waiting to be polled.

use std::collections::VecDeque;

use super::Event;
use crate::types::StreamId;

/// The association's own events; those of the sending half are queued there.
#[derive(Debug)]
pub(super) struct Events {
    queue: VecDeque<Event>,
    /// Streams reset by the peer, and the number of messages to be received before this is reported.
    resets: VecDeque<(u64, Vec<StreamId>)>,
    /// Total number of streams in `resets`.
    reset_streams: usize,
    max_events: usize,
    max_streams: usize,
}

impl Events {
    pub(super) fn new(max_events: usize, max_streams: u16) -> Self {
        Self {
            queue: VecDeque::new(),
            resets: VecDeque::new(),
            reset_streams: 0,
            max_events,
            max_streams: usize::from(max_streams),
        }
    }

    /// Queues an event that occurs at most once, or only at the application's request, and so needs no bound.
    pub(super) fn push(&mut self, event: Event) {
        self.queue.push_back(event);
    }

    /// Queues an event that the peer can cause without limit, unless the same event is already queued.
    pub(super) fn push_once(&mut self, event: Event) {
        if !self.queue.contains(&event) {
            self.queue.push_back(event);
        }
    }

    /// Whether another event caused by the peer can be queued.
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < self.max_events
    }

    /// Whether the peer may reset this many streams now; otherwise it must ask again later.
    pub(super) fn has_room_for_reset(&self, streams: usize) -> bool {
        self.resets.is_empty()
            || (self.resets.len() < self.max_events && self.reset_streams + streams <= self.max_streams)
    }

    /// Queues a reset of streams by the peer, to be reported after this many messages.
    pub(super) fn push_reset(&mut self, messages: u64, streams: Vec<StreamId>) {
        self.reset_streams += streams.len();
        self.resets.push_back((messages, streams));
    }

    /// The next event, given the number of messages received by the application.
    pub(super) fn pop(&mut self, messages_taken: u64) -> Option<Event> {
        if let Some((_, streams)) = self.resets.pop_front_if(|(messages, _)| *messages <= messages_taken) {
            self.reset_streams -= streams.len();
            return Some(Event::StreamsReset(streams));
        }
        self.queue.pop_front()
    }

    /// The association has restarted: pending resets are dropped.
    pub(super) fn forget_resets(&mut self) {
        self.resets.clear();
        self.reset_streams = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_told_after_the_messages_before_it() {
        let mut events = Events::new(10, 10);
        events.push_reset(3, vec![StreamId(1)]);
        events.push(Event::Connected);
        assert_eq!(events.pop(2), Some(Event::Connected));
        assert_eq!(events.pop(2), None);
        assert_eq!(events.pop(3), Some(Event::StreamsReset(vec![StreamId(1)])));
        assert_eq!(events.pop(3), None);
    }

    #[test]
    fn resets_are_bounded_by_number_and_by_streams() {
        let mut events = Events::new(3, 10);
        assert!(events.has_room_for_reset(1000));
        events.push_reset(1, vec![StreamId(1); 8]);
        assert!(events.has_room_for_reset(2) && !events.has_room_for_reset(3));
        events.push_reset(1, vec![StreamId(1)]);
        events.push_reset(1, vec![]);
        assert!(!events.has_room_for_reset(1));
        assert!(events.pop(1).is_some() && events.has_room_for_reset(1));
    }
}
