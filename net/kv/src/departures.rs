//! Connections that close after their output is sent. They no longer count as clients, so their output has a limit of its
//! own.

use std::collections::HashMap;

use netdyno_io::tcp::Key;

use crate::limits::DEPARTING_BYTES;

#[derive(Debug, Default)]
pub(crate) struct Departures {
    /// Size of the buffer with unsent output when each connection was closed.
    connections: HashMap<Key, usize>,
    bytes: usize,
}

impl Departures {
    /// Adds a connection with a buffer of this size, 0 if it has no unsent output; false if it exceeds the limit. A single
    /// connection can have any amount.
    pub(crate) fn add(&mut self, key: Key, unsent: usize) -> bool {
        // Nothing to send: it may be closed already.
        if unsent == 0 {
            return true;
        }
        if self.bytes > 0 && self.bytes + unsent > DEPARTING_BYTES {
            return false;
        }
        let before = self.connections.insert(key, unsent).unwrap_or_default();
        self.bytes = self.bytes - before + unsent;
        true
    }

    /// Removes a connection whose output was sent or discarded.
    pub(crate) fn remove(&mut self, key: Key) {
        self.bytes -= self.connections.remove(&key).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_limited() {
        let mut departures = Departures::default();
        let key = |index| Key::from_bits(index);
        // Steps: the connection, and its output or `None` for its end; and whether it is accepted.
        for (index, unsent, accepted) in [
            (1, Some(2 * DEPARTING_BYTES), true),
            (2, Some(1), false),
            (1, None, true),
            (2, Some(DEPARTING_BYTES / 2), true),
            (3, Some(DEPARTING_BYTES / 2), true),
            (4, Some(1), false),
            (9, None, true),
            (3, None, true),
            (4, Some(1), true),
            (4, Some(2), true),
        ] {
            let found = unsent.map(|unsent| departures.add(key(index), unsent));
            unsent.is_none().then(|| departures.remove(key(index)));
            assert_eq!(found.unwrap_or(true), accepted, "{index} {unsent:?}");
        }
        [2, 4].into_iter().for_each(|index| departures.remove(key(index)));
        assert_eq!(departures.bytes, 0);
    }
}
