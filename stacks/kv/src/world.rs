//! The state other than keys: sessions, channels, users, configuration, blocked sessions.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::acl::Acl;
use crate::blocking::Blocking;
use crate::config::Config;
use crate::entropy::Entropy;
use crate::followers::Followers;
use crate::host::HostRequest;
use crate::keyspace::{EventClass, Expiry, Keyspace};
use crate::monitors::Monitors;
use crate::pubsub::PubSub;
use crate::replication::Replication;
use crate::saves::SaveState;
use crate::session::{Blocked, OnTimeout, SessionId, Sessions};

/// Hexadecimal digits of a run ID or replication ID.
pub(crate) const ID_DIGITS: usize = 40;

/// Numbers of commands and errors.
#[derive(Debug, Default, Clone)]
pub(crate) struct Totals {
    pub(crate) commands: u64,
    pub(crate) errors: u64,
    /// Calls and failures by command.
    pub(crate) calls: Vec<(u64, u64)>,
}

/// `CLIENT PAUSE`: its end, and whether it includes read commands.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Pause {
    pub(crate) until_ms: u64,
    pub(crate) all: bool,
}

/// All state other than the keys.
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
    pub(crate) saves: SaveState,
    /// `maxmemory-clients`; 0 means no limit.
    pub(crate) client_memory_max: usize,
    pub(crate) replication: Replication,
    pub(crate) followers: Followers,
    /// The replication ID of the log: 40 hexadecimal digits. Changes with the primary.
    pub(crate) history: String,
    pub(crate) started_ms: u64,
    /// Lines of INFO from the host, by section.
    pub(crate) info: BTreeMap<String, String>,
    /// Functions that generate lines of INFO.
    pub(crate) info_sources: BTreeMap<String, fn() -> String>,
    pub(crate) slow: crate::slow::SlowLog,
    /// The run ID: 40 hexadecimal digits.
    pub(crate) run_id: String,
    pub(crate) entropy: Entropy,
}

/// Redis' error for commands that a change of the role ends.
const UNBLOCKED_BY_ROLE: &str =
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";

impl World {
    /// Publishes keyspace events.
    pub(crate) fn notify(&mut self, keys: &mut Keyspace) {
        for event in std::mem::take(&mut keys.events) {
            if keys.notify.contains(EventClass::KEYSPACE) {
                let mut channel = format!("__keyspace@{}__:", event.db).into_bytes();
                channel.extend_from_slice(&event.key);
                self.pubsub.publish(&mut self.sessions, false, &channel, event.name.as_bytes(), None);
            }
            if keys.notify.contains(EventClass::KEYEVENT) {
                let channel = format!("__keyevent@{}__:{}", event.db, event.name);
                self.pubsub.publish(&mut self.sessions, false, channel.as_bytes(), &event.key, None);
            }
        }
    }

    /// Removes a session everywhere.
    pub(crate) fn close(&mut self, keys: &mut Keyspace, id: SessionId) {
        self.blocking.remove(keys, &mut self.sessions, id);
        self.pubsub.forget(&mut self.sessions, id);
        self.followers.forget(id);
        self.monitors.forget(id);
        if let Some(session) = self.sessions.close(id) {
            keys.watch.forget(id, &session.watched);
        }
    }

    /// Ends a session's wait by timeout or CLIENT UNBLOCK, with an error or a null.
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
            // As in Redis 7.0, this also applies to commands that reply with a plain null within a
            // transaction.
            None => reply.null_array(),
        }
        self.sessions.resume(id, &out);
        true
    }
}

impl World {
    /// Starts a copy of the current keys.
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

    /// Starts a snapshot of the current keys.
    pub(crate) fn begin_save(&mut self, keys: &mut Keyspace) {
        self.begin_copy(keys);
        self.saves.begin(keys.now, keys.dirty);
    }

    /// Changes the primary, or ends replication.
    pub(crate) fn follow(&mut self, keys: &mut Keyspace, primary: Option<SocketAddr>) {
        self.replication.follow(primary);
        self.history = self.entropy.digits(ID_DIGITS);
        keys.expiry = if primary.is_some() { Expiry::Hide } else { Expiry::Remove };
        if primary.is_some() {
            self.end_blocked(keys);
        }
    }

    /// Ends commands that wait for a key or for replicas, and their connections: on a replica they would remove what
    /// the primary adds. Paused commands are checked again when the pause ends.
    fn end_blocked(&mut self, keys: &mut Keyspace) {
        let waits = |blocked: &Blocked| blocked.on_timeout != OnTimeout::Run;
        let sessions = self.sessions.iter().filter(|session| session.blocked.as_deref().is_some_and(waits));
        for id in sessions.map(|session| session.id).collect::<Vec<_>>() {
            if self.unblock(keys, id, Some(UNBLOCKED_BY_ROLE)) {
                self.sessions.end(id);
            }
        }
    }

    /// Starts an automatic snapshot if one is due.
    pub(crate) fn save_if_due(&mut self, keys: &mut Keyspace) {
        if self.replication.loading || keys.snapshot.is_some() {
            return;
        }
        if self.saves.due_ms(keys.dirty).is_some_and(|at| at <= keys.now.unix_ms) {
            self.begin_save(keys);
            self.host.request(HostRequest::Snapshot);
        }
    }

    /// Replies to a session that waits for the host.
    pub(crate) fn reply_to(&mut self, keys: &mut Keyspace, id: SessionId, error: Option<&str>) {
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
