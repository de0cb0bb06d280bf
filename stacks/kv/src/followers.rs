//! Servers that follow this one: what they have said of themselves, and how far they are.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::session::SessionId;

/// What a server that follows has said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Follower {
    pub(crate) address: Box<str>,
    pub(crate) port: u16,
    /// It finds the end of a copy by a mark.
    pub(crate) knows_marks: bool,
    /// It has asked for the changes (PSYNC).
    pub(crate) follows: bool,
    /// Bytes of the log that it has applied.
    pub(crate) acknowledged: u64,
    /// How often it said so, and when last.
    pub(crate) words: u64,
    pub(crate) heard_ms: u64,
}

/// A session that waits until enough of them have what there is (WAIT).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) id: SessionId,
    pub(crate) offset: u64,
    pub(crate) wanted: usize,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    list: BTreeMap<SessionId, Follower>,
    /// Who has asked for the changes, and from where on, that the program was not told of yet.
    pub(crate) asked: Vec<(SessionId, Option<(String, u64)>)>,
    pub(crate) waiters: Vec<Waiter>,
    /// The log is written for them alone.
    pub(crate) own_log: bool,
    /// Where in the history the log begins that the program has not taken yet.
    pub(crate) base: u64,
}

impl Followers {
    /// What is known of a session; it need not follow.
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

    /// A session does not wait any more. Gives how many have what it waited for.
    pub(crate) fn stop_waiting(&mut self, id: SessionId) -> usize {
        let Some(at) = self.waiters.iter().position(|waiter| waiter.id == id) else { return 0 };
        let waiter = self.waiters.remove(at);
        self.count(waiter.offset)
    }

    /// A session that waits, and need not any more.
    pub(crate) fn served(&self) -> Option<SessionId> {
        let served = |waiter: &&Waiter| self.count(waiter.offset) >= waiter.wanted;
        self.waiters.iter().find(served).map(|waiter| waiter.id)
    }

    /// How many have applied so much.
    pub(crate) fn count(&self, offset: u64) -> usize {
        self.iter().filter(|follower| follower.words > 0 && follower.acknowledged >= offset).count()
    }

    /// Lines of INFO.
    pub(crate) fn tell(&self, now_ms: u64, text: &mut String) {
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
