//! The clients of a thread, and which of them are queued or stalled.
//!
//! There are two queues, so that clients of one kind do not wait for those of the other: of clients with commands left
//! over, and of costly ones.

use std::collections::VecDeque;
use std::mem::replace;

use netdyno_io::tcp::Key;

use crate::client::Client;

#[derive(Default)]
pub(crate) struct Clients {
    /// Indexed by the reactor's slot numbers.
    slots: Vec<Option<Box<Client>>>,
    /// Clients with commands left over from the last iteration.
    queued: VecDeque<Key>,
    /// Costly clients with commands that wait until others were served.
    costly: VecDeque<Key>,
    /// Clients that do not read their replies.
    stalled: VecDeque<Key>,
}

impl Clients {
    pub(crate) fn insert(&mut self, client: Client) {
        let index = client.key.index();
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(Box::new(client));
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Client> {
        self.slots.get_mut(key.index())?.as_deref_mut().filter(|client| client.key == key)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Box<Client>> {
        self.slots.get_mut(key.index())?.take_if(|client| client.key == key)
    }

    /// Number of slots, used or free.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn at(&self, index: usize) -> Option<&Client> {
        self.slots.get(index)?.as_deref()
    }

    /// Queues a client whose commands are left over.
    pub(crate) fn queue(&mut self, key: Key) {
        if let Some(client) = self.get_mut(key)
            && !replace(&mut client.queued, true)
        {
            self.queued.push_back(key);
        }
    }

    /// Queues a client with new commands behind other costly ones.
    pub(crate) fn queue_costly(&mut self, key: Key) {
        if let Some(client) = self.get_mut(key)
            && !replace(&mut client.queued, true)
        {
            self.costly.push_back(key);
        }
    }

    pub(crate) fn has_queued(&self) -> bool {
        !(self.queued.is_empty() && self.costly.is_empty())
    }

    /// Number of clients with commands left over, including some that have left.
    pub(crate) fn queued(&self) -> usize {
        self.queued.len()
    }

    /// Number of queued costly clients, including some that have left.
    pub(crate) fn costly(&self) -> usize {
        self.costly.len()
    }

    /// Removes and returns the client whose commands are left over for longest.
    pub(crate) fn next_queued(&mut self) -> Option<Key> {
        while let Some(key) = self.queued.pop_front() {
            if let Some(client) = self.get_mut(key) {
                client.queued = false;
                return Some(key);
            }
        }
        None
    }

    /// Removes and returns the costly client that has been queued for longest.
    pub(crate) fn next_costly(&mut self) -> Option<Key> {
        while let Some(key) = self.costly.pop_front() {
            if let Some(client) = self.get_mut(key) {
                client.queued = false;
                return Some(key);
            }
        }
        None
    }

    /// Marks a client as stalled until it has read its replies.
    pub(crate) fn stall(&mut self, key: Key) -> Option<&mut Client> {
        let client = self.slots.get_mut(key.index())?.as_deref_mut().filter(|client| client.key == key)?;
        if !replace(&mut client.stalled, true) {
            self.stalled.push_back(key);
        }
        Some(client)
    }

    pub(crate) fn stalled(&self) -> usize {
        self.stalled.len()
    }

    /// Removes and returns the client that has been stalled for longest since its last check.
    pub(crate) fn next_stalled(&mut self) -> Option<Key> {
        let key = self.stalled.pop_front()?;
        if let Some(client) = self.get_mut(key) {
            client.stalled = false;
        }
        Some(key)
    }
}
