//! Pending events and notifications of a device.

use std::collections::VecDeque;

use crate::device::event::DeviceEvent;
use crate::device::object::Object;

#[derive(Debug)]
pub(super) struct Outbox {
    /// Properties to announce: indices of the object and of its property. Each is queued at most once, so
    /// that the description bounds the length; the value at the time of sending is sent.
    notices: VecDeque<(usize, usize)>,
    events: VecDeque<DeviceEvent>,
    max_events: usize,
    /// Events dropped because the queue was full.
    pub(super) dropped: u64,
}

impl Outbox {
    pub(super) fn new(max_events: usize) -> Self {
        Self { notices: VecDeque::new(), events: VecDeque::new(), max_events, dropped: 0 }
    }

    /// A property changed.
    pub(super) fn changed(&mut self, object: &mut Object, object_place: usize, place: usize) {
        if object.properties[place].access.announce {
            self.notice(object, object_place, place);
        }
    }

    /// Queues the announcement of a property.
    pub(super) fn notice(&mut self, object: &mut Object, object_place: usize, place: usize) {
        let property = &mut object.properties[place];
        if !property.queued {
            property.queued = true;
            self.notices.push_back((object_place, place));
        }
    }

    pub(super) fn next_notice(&mut self, objects: &mut [Object]) -> Option<(usize, usize)> {
        let (object, place) = self.notices.pop_front()?;
        objects[object].properties[place].queued = false;
        Some((object, place))
    }

    /// Whether there is room for an event.
    pub(super) fn has_room(&self, events: usize) -> bool {
        self.events.len() + events <= self.max_events
    }

    pub(super) fn event(&mut self, event: DeviceEvent) {
        if self.has_room(1) {
            self.events.push_back(event);
        } else {
            self.dropped += 1;
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<DeviceEvent> {
        self.events.pop_front()
    }
}
