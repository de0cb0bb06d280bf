//! Events that wait to be polled.

use std::collections::VecDeque;

use super::Event;
use crate::types::StreamId;

/// The association's own events; those of the sending half wait there.
#[derive(Debug)]
pub(super) struct Events {
    queue: VecDeque<Event>,
    /// Streams that the peer has reset, and how many messages must have been taken before this is told.
    resets: VecDeque<(u64, Vec<StreamId>)>,
    /// Stream numbers in `resets`.
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

    /// An event that comes once at most, or only when the application has asked for something: these need no bound.
    pub(super) fn push(&mut self, event: Event) {
        self.queue.push_back(event);
    }

    /// An event that the peer can cause as often as it likes. The one before it is enough, if it waits still.
    pub(super) fn push_once(&mut self, event: Event) {
        if !self.queue.contains(&event) {
            self.queue.push_back(event);
        }
    }

    /// Whether the peer may do what leads to an event of its own.
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < self.max_events
    }

    /// Whether the peer may reset `streams` streams now; else it has to ask again later.
    pub(super) fn has_room_for_reset(&self, streams: usize) -> bool {
        self.resets.is_empty()
            || (self.resets.len() < self.max_events && self.reset_streams + streams <= self.max_streams)
    }

    /// The peer has reset streams, after so many messages.
    pub(super) fn push_reset(&mut self, messages: u64, streams: Vec<StreamId>) {
        self.reset_streams += streams.len();
        self.resets.push_back((messages, streams));
    }

    /// The next event, when the application has taken so many messages.
    pub(super) fn pop(&mut self, messages_taken: u64) -> Option<Event> {
        if let Some((_, streams)) = self.resets.pop_front_if(|(messages, _)| *messages <= messages_taken) {
            self.reset_streams -= streams.len();
            return Some(Event::StreamsReset(streams));
        }
        self.queue.pop_front()
    }

    /// The association has begun anew: nothing of before will be delivered.
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
