//! Connections by index. A reused index has a new generation.

use super::connection::Connection;

/// Identifies a connection. A key that outlives its connection has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// Its index: small, and reused once the connection is gone. For tables parallel to the reactor's.
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// The key as one number, unique per reactor (until 2^32 connections have used the same index).
    pub fn bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key with this number.
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Table {
    /// Number of connections, including those reported as closed.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, connection: Connection) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            // Each connection has a descriptor, and there are fewer descriptors than this.
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.connection = Some(connection);
        Key { index, generation: slot.generation }
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&Connection> {
        let slot = self.slots.get(key.index())?;
        slot.connection.as_ref().filter(|_| slot.generation == key.generation)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(key.index())?;
        slot.connection.as_mut().filter(|_| slot.generation == key.generation)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Connection> {
        let slot = self.slots.get_mut(key.index()).filter(|slot| slot.generation == key.generation)?;
        let connection = slot.connection.take()?;
        // The highest generation is reserved: backends use it for other event sources.
        slot.generation = (slot.generation + 1) % u32::MAX;
        self.free.push(key.index);
        Some(connection)
    }

    /// The key of the current connection at this index.
    pub(super) fn key_at(&self, index: u32) -> Option<Key> {
        let slot = self.slots.get(index as usize).filter(|slot| slot.connection.is_some())?;
        Some(Key { index, generation: slot.generation })
    }
}
