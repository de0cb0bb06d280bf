//! What there is beside keys: sessions, channels, users, configuration, who waits.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::acl::Acl;
use crate::blocking::Blocking;
use crate::config::Config;
use crate::followers::Followers;
use crate::host::Wish;
use crate::keyspace::{Class, Expiry, Keyspace};
use crate::monitors::Monitors;
use crate::pubsub::PubSub;
use crate::replication::Replication;
use crate::saves::Saves;
use crate::session::{Blocked, OnTimeout, SessionId, Sessions};

/// How many commands ran, and how they ended.
#[derive(Debug, Default, Clone)]
pub(crate) struct Totals {
    pub(crate) commands: u64,
    pub(crate) errors: u64,
    /// By name: calls and failures.
    pub(crate) calls: Vec<(u64, u64)>,
}

/// `CLIENT PAUSE`: until when, and whether commands that only read go on.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Pause {
    pub(crate) until_ms: u64,
    pub(crate) all: bool,
}

/// Everything but the keys.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) sessions: Sessions,
    pub(crate) pubsub: PubSub,
    pub(crate) blocking: Blocking,
    pub(crate) acl: Acl,
    pub(crate) config: Config,
    pub(crate) totals: Totals,
    pub(crate) pause: Pause,
    pub(crate) monitors: Monitors,
    pub(crate) host: crate::host::Host,
    pub(crate) saves: Saves,
    pub(crate) replication: Replication,
    pub(crate) followers: Followers,
    /// Forty hexadecimal digits that name what is logged: it goes on until another primary is followed.
    pub(crate) history: String,
    pub(crate) started_ms: u64,
    /// Sections of INFO that the server adds to, and its lines.
    pub(crate) info: BTreeMap<String, String>,
    /// Such lines that are made when they are asked for.
    pub(crate) info_sources: BTreeMap<String, fn() -> String>,
    pub(crate) slow: crate::slow::Slow,
    /// Forty hexadecimal digits that name this run.
    pub(crate) run_id: String,
}

impl World {
    /// Tells subscribers what happened to keys.
    pub(crate) fn notify(&mut self, keys: &mut Keyspace) {
        for event in std::mem::take(&mut keys.events) {
            if keys.notify.contains(Class::KEYSPACE) {
                let mut channel = format!("__keyspace@{}__:", event.db).into_bytes();
                channel.extend_from_slice(&event.key);
                self.pubsub.publish(&mut self.sessions, false, &channel, event.name.as_bytes(), None);
            }
            if keys.notify.contains(Class::KEYEVENT) {
                let channel = format!("__keyevent@{}__:{}", event.db, event.name);
                self.pubsub.publish(&mut self.sessions, false, channel.as_bytes(), &event.key, None);
            }
        }
    }

    /// Forgets a session everywhere.
    pub(crate) fn close(&mut self, keys: &mut Keyspace, id: SessionId) {
        self.blocking.remove(keys, &mut self.sessions, id);
        self.pubsub.forget(&mut self.sessions, id);
        self.followers.forget(id);
        self.monitors.forget(id);
        if let Some(session) = self.sessions.close(id) {
            keys.watch.forget(id, &session.watched);
        }
    }

    /// Ends the wait of a session, by time or by CLIENT UNBLOCK; `error` in place of a null.
    pub(crate) fn unblock(&mut self, keys: &mut Keyspace, id: SessionId, error: Option<&str>) -> bool {
        let blocked = self.sessions.get(id).and_then(|session| session.blocked.as_deref());
        if blocked.is_some_and(|blocked| blocked.on_timeout == OnTimeout::Never) {
            return false;
        }
        let counts = blocked.is_some_and(|blocked| blocked.on_timeout == OnTimeout::Count);
        let count = self.followers.stop_waiting(id);
        if self.blocking.remove(keys, &mut self.sessions, id).is_none() {
            return false;
        }
        let Some(session) = self.sessions.get(id) else { return false };
        let mut out = Vec::new();
        let mut reply = netdyno_resp::Reply::new(&mut out, session.protocol);
        match error {
            Some(text) => reply.error(text),
            None if counts => reply.integer(count as i64),
            // Also of a command that gives a null at once in a transaction: so it is in Redis 7.0.
            None => reply.null_array(),
        }
        self.sessions.resume(id, &out);
        true
    }
}

impl World {
    /// A copy of the keys as they are now begins.
    pub(crate) fn begin_copy(&mut self, keys: &mut Keyspace) {
        let (made_s, used) = ((keys.now.unix_ms / 1000).to_string(), keys.memory_bytes().to_string());
        let about = [
            ("redis-ver", crate::config::REDIS_VERSION),
            ("redis-bits", "64"),
            ("ctime", &made_s),
            ("used-mem", &used),
            ("aof-base", "0"),
        ];
        keys.begin_snapshot(self.config.get("rdbcompression") == Some("yes"), &about);
    }

    /// A snapshot begins, of the keys as they are now.
    pub(crate) fn begin_save(&mut self, keys: &mut Keyspace) {
        self.begin_copy(keys);
        self.saves.begin(keys.now, keys.dirty);
    }

    /// Follows this primary from now on, or nobody.
    pub(crate) fn follow(&mut self, keys: &mut Keyspace, primary: Option<SocketAddr>) {
        self.replication.follow(primary);
        self.history = format!(
            "{:016x}{:016x}{:08x}",
            keys.random.next(),
            keys.random.next(),
            keys.random.next() as u32
        );
        keys.expiry = if primary.is_some() { Expiry::Hide } else { Expiry::Remove };
    }

    /// One begins by itself, if it is time.
    pub(crate) fn save_if_due(&mut self, keys: &mut Keyspace) {
        if self.replication.loading || keys.snapshot.is_some() {
            return;
        }
        if self.saves.due_ms(keys.dirty).is_some_and(|at| at <= keys.now.unix_ms) {
            self.begin_save(keys);
            self.host.wish(Wish::Snapshot);
        }
    }

    /// Answers a session that waits for the program to do something.
    pub(crate) fn answer(&mut self, keys: &mut Keyspace, id: SessionId, error: Option<&str>) {
        let waits = |blocked: &Blocked| blocked.on_timeout == OnTimeout::Never;
        if !self.sessions.get(id).and_then(|s| s.blocked.as_deref()).is_some_and(waits) {
            return;
        }
        self.blocking.remove(keys, &mut self.sessions, id);
        let protocol = self.sessions.get(id).map(|session| session.protocol).unwrap_or_default();
        let mut out = Vec::new();
        let mut reply = netdyno_resp::Reply::new(&mut out, protocol);
        match error {
            Some(text) => reply.error(text),
            None => reply.ok(),
        }
        self.sessions.resume(id, &out);
    }
}
