//! Replication: a replica follows the keys of a primary, and a primary serves replicas.
//!
//! - All keys are copied once (PSYNC; the primary's snapshot is delimited by its length or by an end mark).
//!   After that the replica executes every change of the primary.
//! - A broken link resumes from its offset if the primary still has the missing changes; otherwise all keys
//!   are copied again.
//! - Clients of a replica can read; writes are refused (`READONLY`). During a copy all commands on keys are
//!   refused (`LOADING`).
//! - An expired key is hidden immediately and removed when the primary removes it.
//! - Data that is not supported here (streams, functions) ends the link permanently, and INFO gives the
//!   reason (`master_link_trouble`): this avoids two servers that differ silently. Another REPLICAOF starts
//!   over.
//! - Any server that is not a replica can be a primary. Its replicas receive a copy of the keys as of the
//!   start of the copy, then each change in order. A replica without progress for `repl-timeout` is
//!   disconnected, as is one that is 256 MiB behind.
//! - Replies do not wait for replicas, unless a client uses WAIT. Changes that no replica has received are
//!   lost if the primary fails.

mod link;

use std::net::SocketAddr;

use netdyno_io::tcp::Key;
use netdyno_kv_core::{Engine, LinkState, LinkStatus, Now};

use crate::limits::{ACKNOWLEDGED_EACH_US, LINK_RETRIED_EACH_US};
use crate::wire::Wire;
use link::{Introduction, Link, Over, Position, acknowledge};

/// The leading thread's link to the primary.
#[derive(Default)]
pub(crate) struct Replica {
    primary: Option<SocketAddr>,
    /// Generation of the engine's replication target that this link belongs to.
    turns: u64,
    key: Option<Key>,
    link: Option<Link>,
    position: Position,
    /// Time of the next connection attempt or acknowledgement, on the monotonic clock.
    next_us: u64,
    heard: Now,
    /// Received data is left to process.
    has_more: bool,
    trouble: Option<String>,
    for_good: bool,
}

impl Replica {
    /// Whether this connection is the link to the primary.
    pub(crate) fn has(&self, key: Key) -> bool {
        self.key == Some(key)
    }

    /// When work is due without an event, on the monotonic clock.
    pub(crate) fn next_us(&self) -> Option<u64> {
        let waits = self.primary.is_some() && !self.for_good;
        waits.then_some(if self.has_more { 0 } else { self.next_us })
    }

    /// Handles the end of a connection.
    pub(crate) fn lost(&mut self, key: Key) {
        self.key.take_if(|ours| *ours == key);
    }

    /// One turn, with the lock on the engine.
    pub(crate) fn turn(&mut self, engine: &mut Engine, wire: &mut Wire, now: Now) {
        let (primary, turns) = engine.primary();
        if turns != self.turns {
            self.end(engine, wire);
            if let Some(session) = self.position.session.take() {
                engine.close(session);
            }
            *self = Self { primary, turns, ..Self::default() };
        }
        let Some(primary) = self.primary else { return };
        if self.link.is_some() && self.key.is_none() {
            self.fail(engine, wire, now, Over::Again("the link has broken".into()));
        }
        if self.for_good {
            return;
        }
        if self.link.is_none() && now.monotonic_us >= self.next_us {
            self.connect(engine, wire, now, primary);
        }
        self.receive(engine, wire, now);
        self.look_at_time(engine, wire, now);
        self.tell(engine);
    }

    fn connect(&mut self, engine: &mut Engine, wire: &mut Wire, now: Now, primary: SocketAddr) {
        self.next_us = now.monotonic_us + LINK_RETRIED_EACH_US;
        self.heard = now;
        let text = |name: &str| engine.config(name).unwrap_or_default().to_owned();
        let port = text("port").parse().unwrap_or(0);
        let who = Introduction { user: text("masteruser"), password: text("masterauth"), port };
        match wire.connect(primary) {
            Ok(key) => {
                self.link = Some(Link::new(who, wire.output(key)));
                self.key = Some(key);
            }
            Err(error) => self.trouble = Some(format!("cannot connect to {primary}: {error}")),
        }
    }

    fn receive(&mut self, engine: &mut Engine, wire: &mut Wire, now: Now) {
        let (Some(link), Some(key)) = (&mut self.link, self.key) else { return };
        self.has_more = false;
        let mut bytes = 0;
        while bytes < crate::limits::APPLIED_AT_ONCE_BYTES {
            let (input, output) = wire.buffers(key);
            if input.is_empty() {
                return;
            }
            match link.receive(engine, now, &mut self.position, input, output) {
                Ok(0) => return,
                Ok(done) => {
                    wire.consume(key, done);
                    bytes += done;
                    (self.heard, self.trouble) = (now, None);
                }
                Err(over) => return self.fail(engine, wire, now, over),
            }
        }
        self.has_more = true;
    }

    /// Sends an acknowledgement each second, and ends the link to a primary that is silent for too long.
    fn look_at_time(&mut self, engine: &mut Engine, wire: &mut Wire, now: Now) {
        let (Some(link), Some(key)) = (&self.link, self.key) else { return };
        let silent_us = now.monotonic_us.saturating_sub(self.heard.monotonic_us);
        let most_s = engine.config("repl-timeout").and_then(|text| text.parse::<u64>().ok()).unwrap_or(60);
        if silent_us > most_s.saturating_mul(1_000_000) {
            return self.fail(engine, wire, now, Over::Again("the primary is silent".into()));
        }
        if now.monotonic_us >= self.next_us {
            self.next_us = now.monotonic_us + ACKNOWLEDGED_EACH_US;
            if link.state() == LinkState::Connected {
                acknowledge(&self.position, wire.output(key));
            }
        }
    }

    fn fail(&mut self, engine: &mut Engine, wire: &mut Wire, now: Now, over: Over) {
        self.end(engine, wire);
        self.next_us = now.monotonic_us + LINK_RETRIED_EACH_US;
        let (why, for_good) = match over {
            Over::Again(why) => (why, false),
            Over::ForGood(why) => (why, true),
        };
        (self.trouble, self.for_good) = (Some(why), for_good);
        self.tell(engine);
    }

    /// Ends the link. An incomplete transaction is discarded; the primary sends it again.
    fn end(&mut self, engine: &mut Engine, wire: &mut Wire) {
        if let Some(key) = self.key.take() {
            wire.close(key, false);
        }
        let Some(link) = self.link.take() else { return };
        if link.state() == LinkState::Sync {
            engine.end_copy(false);
            self.position.history = None;
        }
        if let Some(session) = self.position.session.filter(|_| link.is_in_transaction()) {
            engine.apply(self.heard, session, &[b"DISCARD"], &mut Vec::new());
        }
        self.has_more = false;
    }

    fn tell(&self, engine: &mut Engine) {
        engine.set_link(LinkStatus {
            state: self.link.as_ref().map_or(LinkState::Connect, Link::state),
            history: self.position.history.clone().unwrap_or_default(),
            offset: self.position.offset,
            heard_ms: self.heard.unix_ms,
            trouble: self.trouble.clone(),
        });
    }
}
