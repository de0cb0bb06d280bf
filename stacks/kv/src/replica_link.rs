//! The link of a replica to its primary: connection attempts, handshake, copy, changes, acknowledgements.

use std::net::SocketAddr;

use crate::engine::Engine;
use crate::limits::{ACKNOWLEDGEMENT_INTERVAL_US, LINK_PART_BYTES, LINK_RETRY_US};
use crate::primary_stream::{Identity, LinkFailure, Position, PrimaryStream, acknowledge};
use crate::replication::{LinkState, LinkStatus};
use crate::timestamp::Timestamp;

/// An instruction to the host about the connection to the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkAction {
    /// Open a connection, then call [`ReplicaLink::handle_connecting`] or
    /// [`ReplicaLink::handle_connect_error`].
    Connect(SocketAddr),
    /// Close the connection and discard its output. [`ReplicaLink::handle_disconnected`] is not called for it.
    Close,
}

/// Keeps an engine's keys equal to those of its primary ([`Engine::follow`]).
///
/// The host opens the connection and moves its bytes:
///
/// 1. Call [`handle_timeout`](Self::handle_timeout) when [`next_deadline_us`](Self::next_deadline_us) is due,
///    after [`HostRequest::Follow`](crate::HostRequest::Follow), and after input.
/// 2. Call [`handle_input`](Self::handle_input) for received bytes, and
///    [`handle_disconnected`](Self::handle_disconnected) at the end of the connection.
/// 3. After each of these, follow [`poll_action`](Self::poll_action) until it returns `None`.
///
/// A link that fails is retried, and resumes from its offset if the primary still has the missing changes.
/// Data that is not supported here ends it permanently: this avoids two servers that differ silently.
#[derive(Debug, Default)]
pub struct ReplicaLink {
    primary: Option<SocketAddr>,
    /// Generation of the primary that this link belongs to.
    generation: u64,
    stream: Option<PrimaryStream>,
    position: Position,
    /// Time of the next connection attempt or acknowledgement.
    next_us: u64,
    last_input: Timestamp,
    /// Received input is left to process.
    has_more: bool,
    failure: Option<String>,
    is_permanent: bool,
    connects: bool,
    closes: bool,
}

impl ReplicaLink {
    /// When [`handle_timeout`](Self::handle_timeout) is due, on the monotonic clock.
    pub fn next_deadline_us(&self) -> Option<u64> {
        let active = self.primary.is_some() && !self.is_permanent;
        active.then_some(if self.has_more { 0 } else { self.next_us })
    }

    /// The next action for the host.
    pub fn poll_action(&mut self) -> Option<LinkAction> {
        if std::mem::take(&mut self.closes) {
            return Some(LinkAction::Close);
        }
        let primary = self.primary?;
        std::mem::take(&mut self.connects).then_some(LinkAction::Connect(primary))
    }

    /// A connection attempt has started. Appends the first command to `output`, the output of the connection.
    pub fn handle_connecting(&mut self, engine: &mut Engine, output: &mut Vec<u8>) {
        let text = |name: &str| engine.config(name).unwrap_or_default().to_owned();
        let port = text("port").parse().unwrap_or(0);
        let identity = Identity { user: text("masteruser"), password: text("masterauth"), port };
        self.stream = Some(PrimaryStream::new(identity, output));
        self.report(engine);
    }

    /// No connection attempt could be started.
    pub fn handle_connect_error(&mut self, engine: &mut Engine, reason: &str) {
        if let Some(primary) = self.primary {
            self.failure = Some(format!("cannot connect to {primary}: {reason}"));
        }
        self.report(engine);
    }

    /// The connection was closed by the peer, or the attempt has failed.
    pub fn handle_disconnected(&mut self, engine: &mut Engine, now: Timestamp, reason: &str) {
        if self.stream.is_some() {
            self.fail(engine, now, LinkFailure::Temporary(reason.to_owned()));
            self.closes = false;
        }
    }

    /// Processes received bytes, and appends commands to `output`. Returns the number of bytes consumed; the
    /// host passes the others again, with further ones. The work per call is bounded.
    pub fn handle_input(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> usize {
        let Some(stream) = &mut self.stream else { return 0 };
        self.has_more = false;
        let mut consumed = 0;
        while consumed < LINK_PART_BYTES {
            if consumed == input.len() {
                return consumed;
            }
            match stream.receive(engine, now, &mut self.position, &input[consumed..], output) {
                Ok(0) => return consumed,
                Ok(bytes) => {
                    consumed += bytes;
                    (self.last_input, self.failure) = (now, None);
                }
                Err(failure) => {
                    self.fail(engine, now, failure);
                    return consumed;
                }
            }
        }
        self.has_more = true;
        consumed
    }

    /// Follows a change of the primary, schedules connection attempts and acknowledgements, and ends a link
    /// whose primary is silent. `output` is the output of the connection, if there is one.
    pub fn handle_timeout(&mut self, engine: &mut Engine, now: Timestamp, output: Option<&mut Vec<u8>>) {
        let (primary, generation) = engine.primary();
        if generation != self.generation {
            self.end(engine);
            if let Some(session) = self.position.session.take() {
                engine.close(session);
            }
            *self = Self { primary, generation, closes: self.closes, ..Self::default() };
        }
        if self.primary.is_none() || self.is_permanent {
            return;
        }
        match (&self.stream, output) {
            (Some(stream), Some(output)) if !self.closes => {
                let state = stream.state();
                self.check_connection(engine, now, state, output);
            }
            (Some(_), _) => {}
            (None, _) if now.monotonic_us >= self.next_us => {
                self.next_us = now.monotonic_us + LINK_RETRY_US;
                (self.last_input, self.connects) = (now, true);
            }
            (None, _) => {}
        }
        self.report(engine);
    }

    fn check_connection(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        state: LinkState,
        output: &mut Vec<u8>,
    ) {
        let silence_us = now.monotonic_us.saturating_sub(self.last_input.monotonic_us);
        let limit_s = engine.config("repl-timeout").and_then(|text| text.parse::<u64>().ok()).unwrap_or(60);
        if silence_us > limit_s.saturating_mul(1_000_000) {
            return self.fail(engine, now, LinkFailure::Temporary("no data from the primary".into()));
        }
        if now.monotonic_us >= self.next_us {
            self.next_us = now.monotonic_us + ACKNOWLEDGEMENT_INTERVAL_US;
            if state == LinkState::Connected {
                acknowledge(&self.position, output);
            }
        }
    }

    fn fail(&mut self, engine: &mut Engine, now: Timestamp, failure: LinkFailure) {
        self.end(engine);
        self.next_us = now.monotonic_us + LINK_RETRY_US;
        let (reason, is_permanent) = match failure {
            LinkFailure::Temporary(reason) => (reason, false),
            LinkFailure::Permanent(reason) => (reason, true),
        };
        (self.failure, self.is_permanent) = (Some(reason), is_permanent);
        self.report(engine);
    }

    /// Ends the connection. An incomplete transaction is discarded; the primary sends it again.
    fn end(&mut self, engine: &mut Engine) {
        let Some(stream) = self.stream.take() else { return };
        self.closes = true;
        if stream.state() == LinkState::Sync {
            engine.end_copy(false);
            self.position.history = None;
        }
        if let Some(session) = self.position.session.filter(|_| stream.is_in_transaction()) {
            engine.apply(self.last_input, session, &[b"DISCARD"], &mut Vec::new());
        }
        self.has_more = false;
    }

    fn report(&self, engine: &mut Engine) {
        engine.set_link(LinkStatus {
            state: self.stream.as_ref().map_or(LinkState::Connect, PrimaryStream::state),
            history: self.position.history.clone().unwrap_or_default(),
            offset: self.position.offset,
            heard_ms: self.last_input.unix_ms,
            trouble: self.failure.clone(),
        });
    }
}
