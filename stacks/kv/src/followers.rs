//! Replicas of this server: their properties and acknowledged offsets.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::session::SessionId;

/// A replica, as described by its REPLCONF commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Follower {
    pub(crate) address: Box<str>,
    pub(crate) port: u16,
    /// Supports copies with an end mark (EOF capability).
    pub(crate) knows_marks: bool,
    /// It has requested the changes (PSYNC).
    pub(crate) follows: bool,
    /// Acknowledged offset in the log.
    pub(crate) acknowledged: u64,
    /// Number of acknowledgements, and the time of the last one.
    pub(crate) words: u64,
    pub(crate) heard_ms: u64,
}

/// A session that is blocked by WAIT.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) id: SessionId,
    pub(crate) offset: u64,
    pub(crate) wanted: usize,
}

/// All replicas.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    list: BTreeMap<SessionId, Follower>,
    /// Requests to follow that the host has not collected, with the offset to resume from.
    pub(crate) asked: Vec<(SessionId, Option<(String, u64)>)>,
    pub(crate) waiters: Vec<Waiter>,
    /// The log is enabled only for replicas.
    pub(crate) own_log: bool,
    /// Offset in the history at which the uncollected log starts.
    pub(crate) base: u64,
}

impl Followers {
    /// The state of a session that may become a replica.
    pub(crate) fn get_mut(&mut self, id: SessionId) -> &mut Follower {
        self.list.entry(id).or_default()
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<&Follower> {
        self.list.get(&id)
    }

    pub(crate) fn forget(&mut self, id: SessionId) {
        self.list.remove(&id);
        self.asked.retain(|(other, _)| *other != id);
        self.waiters.retain(|waiter| waiter.id != id);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Follower> {
        self.list.values().filter(|follower| follower.follows)
    }

    /// Ends a session's WAIT and returns the number of replicas that acknowledged its offset.
    pub(crate) fn stop_waiting(&mut self, id: SessionId) -> usize {
        let Some(at) = self.waiters.iter().position(|waiter| waiter.id == id) else { return 0 };
        let waiter = self.waiters.remove(at);
        self.count(waiter.offset)
    }

    /// A session whose WAIT is satisfied.
    pub(crate) fn served(&self) -> Option<SessionId> {
        let served = |waiter: &&Waiter| self.count(waiter.offset) >= waiter.wanted;
        self.waiters.iter().find(served).map(|waiter| waiter.id)
    }

    /// Number of replicas that acknowledged this offset.
    pub(crate) fn count(&self, offset: u64) -> usize {
        self.iter().filter(|follower| follower.words > 0 && follower.acknowledged >= offset).count()
    }

    /// The lines of INFO.
    pub(crate) fn write_info(&self, now_ms: u64, text: &mut String) {
        let _ = write!(text, "connected_slaves:{}\r\n", self.iter().count());
        for (at, follower) in self.iter().enumerate() {
            let state = if follower.words > 0 { "online" } else { "send_bulk" };
            let _ = write!(
                text,
                "slave{at}:ip={},port={},state={state},offset={},lag={}\r\n",
                follower.address,
                follower.port,
                follower.acknowledged,
                now_ms.saturating_sub(follower.heard_ms) / 1000
            );
        }
    }
}
