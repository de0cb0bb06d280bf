//! What there is beside keys: sessions, channels, users, configuration, who waits.

use std::collections::BTreeMap;

use crate::acl::Acl;
use crate::blocking::Blocking;
use crate::config::Config;
use crate::keyspace::{Class, Keyspace};
use crate::pubsub::PubSub;
use crate::session::{SessionId, Sessions};

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
    pub(crate) host: crate::host::Host,
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
        if let Some(session) = self.sessions.close(id) {
            keys.watch.forget(id, &session.watched);
        }
    }

    /// Ends the wait of a session, by time or by CLIENT UNBLOCK; `error` in place of a null.
    pub(crate) fn unblock(&mut self, keys: &mut Keyspace, id: SessionId, error: Option<&str>) -> bool {
        if self.blocking.remove(keys, &mut self.sessions, id).is_none() {
            return false;
        }
        let Some(session) = self.sessions.get(id) else { return false };
        let mut out = Vec::new();
        let mut reply = netdyno_resp::Reply::new(&mut out, session.protocol);
        match error {
            Some(text) => reply.error(text),
            // Also of a command that gives a null at once in a transaction: so it is in Redis 7.0.
            None => reply.null_array(),
        }
        self.sessions.resume(id, &out);
        true
    }
}
