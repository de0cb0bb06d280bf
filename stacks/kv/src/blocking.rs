//! Blocked sessions: those that wait for a key, and those held back by CLIENT PAUSE.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::held::entry_bytes;
use crate::keyspace::Keyspace;
use crate::session::{Blocked, OnTimeout, SessionId, Sessions, owned_bytes};

/// Waiting sessions by key, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Blocking {
    waiting: BTreeMap<(usize, Box<[u8]>), VecDeque<SessionId>>,
    deadlines: BTreeSet<(u64, SessionId)>,
    count: usize,
}

impl Blocking {
    /// Number of blocked sessions.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn add(
        &mut self,
        keys: &mut Keyspace,
        sessions: &mut Sessions,
        id: SessionId,
        blocked: Blocked,
    ) {
        let Some(session) = sessions.get_mut(id) else { return };
        let names: BTreeSet<_> = blocked.keys.iter().collect();
        for name in names {
            let key = (blocked.db, name.clone());
            *keys.awaited.entry(key.clone()).or_default() += 1;
            self.waiting.entry(key).or_default().push_back(id);
        }
        if let Some(at) = blocked.deadline {
            self.deadlines.insert((at, id));
        }
        self.count += 1;
        session.held.blocked =
            owned_bytes(&blocked.args) + blocked.keys.iter().map(|key| entry_bytes(key)).sum::<usize>();
        session.blocked = Some(Box::new(blocked));
    }

    /// Removes a session's wait.
    pub(crate) fn remove(
        &mut self,
        keys: &mut Keyspace,
        sessions: &mut Sessions,
        id: SessionId,
    ) -> Option<Box<Blocked>> {
        let session = sessions.get_mut(id)?;
        let blocked = session.blocked.take()?;
        session.held.blocked = 0;
        let names: BTreeSet<_> = blocked.keys.iter().collect();
        for name in names {
            let key = (blocked.db, name.clone());
            if let Some(queue) = self.waiting.get_mut(&key) {
                queue.retain(|other| *other != id);
                if queue.is_empty() {
                    self.waiting.remove(&key);
                }
            }
            if let Some(count) = keys.awaited.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    keys.awaited.remove(&key);
                }
            }
        }
        if let Some(at) = blocked.deadline {
            self.deadlines.remove(&(at, id));
        }
        self.count -= 1;
        Some(blocked)
    }

    /// The sessions that wait for a key, in order of arrival.
    pub(crate) fn queue(&self, key: &(usize, Box<[u8]>)) -> Vec<SessionId> {
        self.waiting.get(key).map(|queue| queue.iter().copied().collect()).unwrap_or_default()
    }

    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    pub(crate) fn due(&self, now_ms: u64) -> Option<SessionId> {
        self.deadlines.first().filter(|(at, _)| *at <= now_ms).map(|(_, id)| *id)
    }

    /// All sessions that wait with a deadline.
    pub(crate) fn with_deadline(&self) -> Vec<SessionId> {
        self.deadlines.iter().map(|(_, id)| *id).collect()
    }

    /// Ends the pause of a session with the next check of deadlines.
    pub(crate) fn end_pause(&mut self, sessions: &mut Sessions, id: SessionId) {
        let blocked = sessions.get_mut(id).and_then(|session| session.blocked.as_mut());
        if let Some(blocked) = blocked.filter(|blocked| blocked.on_timeout == OnTimeout::Run)
            && let Some(at) = blocked.deadline.replace(0)
        {
            self.deadlines.remove(&(at, id));
            self.deadlines.insert((0, id));
        }
    }
}
