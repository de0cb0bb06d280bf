//! Notifications of changed keys: to watches, blocked sessions, and event subscribers.
use super::Keyspace;

/// A set of event classes, as in `notify-keyspace-events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EventClass(u16);

const LETTERS: [(char, u16); 14] = [
    ('g', 1 << 2),
    ('$', 1 << 3),
    ('l', 1 << 4),
    ('s', 1 << 5),
    ('h', 1 << 6),
    ('z', 1 << 7),
    ('x', 1 << 8),
    ('e', 1 << 9),
    ('K', 1),
    ('E', 1 << 1),
    ('t', 1 << 10),
    ('m', 1 << 11),
    ('d', 1 << 13),
    ('n', 1 << 14),
];
/// The classes that `A` includes.
const ALL: u16 = 0b10_0111_1111_1100;

impl EventClass {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const KEYSPACE: Self = Self(1);
    pub(crate) const KEYEVENT: Self = Self(1 << 1);
    pub(crate) const GENERIC: Self = Self(1 << 2);
    pub(crate) const STRING: Self = Self(1 << 3);
    pub(crate) const LIST: Self = Self(1 << 4);
    pub(crate) const SET: Self = Self(1 << 5);
    pub(crate) const HASH: Self = Self(1 << 6);
    pub(crate) const ZSET: Self = Self(1 << 7);
    pub(crate) const EXPIRED: Self = Self(1 << 8);
    pub(crate) const EVICTED: Self = Self(1 << 9);
    pub(crate) const MISS: Self = Self(1 << 11);
    pub(crate) const NEW: Self = Self(1 << 14);

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        text.iter().try_fold(Self::NONE, |sum, letter| {
            let bits = match char::from(*letter) {
                'A' => ALL,
                letter => LETTERS.iter().find(|(l, _)| *l == letter)?.1,
            };
            Some(Self(sum.0 | bits))
        })
    }

    pub(crate) fn text(self) -> String {
        let all = self.0 & ALL == ALL;
        let letters = LETTERS.iter().filter(|(_, bit)| self.0 & bit != 0 && !(all && ALL & bit != 0));
        all.then_some('A').into_iter().chain(letters.map(|(letter, _)| *letter)).collect()
    }
}

/// An event on a key.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) db: usize,
    pub(crate) name: &'static str,
    pub(crate) key: Box<[u8]>,
}

impl Keyspace {
    /// Whether nothing observes changes: no blocked session is ready, no event is pending and no dump is in
    /// progress.
    pub(crate) fn is_unheard(&self) -> bool {
        self.ready.is_empty() && self.events.is_empty() && self.dump.is_none()
    }

    /// A key has changed: transactions that watch it fail, and sessions that wait for it may be served.
    #[inline]
    pub(crate) fn changed(&mut self, key: &[u8]) {
        self.dirty += 1;
        self.watch.touch(self.db, key);
    }

    /// A key has a value that blocked sessions may wait for.
    pub(crate) fn signal(&mut self, key: &[u8]) {
        if !self.awaited.is_empty() {
            let key: (usize, Box<[u8]>) = (self.db, key.into());
            if self.awaited.contains_key(&key) {
                self.ready.push(key);
            }
        }
    }

    /// Records an event if its class is enabled.
    #[inline]
    pub(crate) fn event(&mut self, class: EventClass, name: &'static str, key: &[u8]) {
        if self.notify.contains(class) {
            self.events.push(Event { db: self.db, name, key: key.into() });
        }
    }

    /// Records a change of a key and its event.
    #[inline]
    pub(crate) fn changed_by(&mut self, class: EventClass, name: &'static str, key: &[u8]) {
        self.changed(key);
        self.event(class, name, key);
        if std::mem::take(&mut self.emptied) {
            self.event(EventClass::GENERIC, "del", key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_class_letters() {
        for (text, printed) in
            [("KEA", "AKE"), ("", ""), ("Kg$lshzxetd", "AK"), ("El", "lE"), ("AKEm", "AKEm")]
        {
            assert_eq!(
                EventClass::parse(text.as_bytes()).map(EventClass::text).as_deref(),
                Some(printed),
                "{text}"
            );
        }
        assert_eq!(EventClass::parse(b"Q"), None);
    }
}
