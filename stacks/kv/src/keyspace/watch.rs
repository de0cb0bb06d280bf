//! WATCH: transactions that fail when a key changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::held::WatchedKey;
use crate::session::SessionId;

/// Watched keys. Costs one comparison per change while there are none.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    keys: BTreeMap<usize, BTreeMap<Box<[u8]>, BTreeSet<SessionId>>>,
    touched: BTreeSet<SessionId>,
}

impl Watch {
    pub(crate) fn watch(&mut self, session: SessionId, db: usize, key: &[u8]) {
        self.keys.entry(db).or_default().entry(key.into()).or_default().insert(session);
    }

    /// Removes the watches of a session.
    pub(crate) fn forget(&mut self, session: SessionId, watched: &BTreeSet<WatchedKey>) {
        self.touched.remove(&session);
        for (db, key) in watched {
            let Some(keys) = self.keys.get_mut(db) else { continue };
            if let Some(sessions) = keys.get_mut(key) {
                sessions.remove(&session);
                if sessions.is_empty() {
                    keys.remove(key);
                }
            }
            if keys.is_empty() {
                self.keys.remove(db);
            }
        }
    }

    #[inline]
    pub(crate) fn touch(&mut self, db: usize, key: &[u8]) {
        if self.keys.is_empty() {
            return;
        }
        if let Some(sessions) = self.keys.get(&db).and_then(|keys| keys.get(key)) {
            self.touched.extend(sessions);
        }
    }

    /// Marks the watched keys of a database that satisfy a predicate as changed.
    pub(crate) fn touch_all(&mut self, db: usize, concerned: impl Fn(&[u8]) -> bool) {
        let Some(keys) = self.keys.get(&db) else { return };
        for (_, sessions) in keys.iter().filter(|(key, _)| concerned(key)) {
            self.touched.extend(sessions);
        }
    }

    pub(crate) fn is_touched(&self, session: SessionId) -> bool {
        self.touched.contains(&session)
    }
}
