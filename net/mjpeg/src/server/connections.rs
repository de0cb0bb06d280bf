//! Connections: their requests, and whether they accept output.

use std::net::SocketAddr;
use std::time::Instant;

use netdyno_io::tcp::{Event, Key};
use netdyno_rtsp::{Message, Peer, host_prefix, next_message};

use super::connection::Connection;
use super::limits::{MESSAGES_PER_TURN, REQUEST_TIMEOUT, RESPONSE_BYTES, SPARE_CONNECTIONS_PER_HOST};
use super::network::{EventHandler, Network};
use super::player::Route;
use super::{Rejection, StopReason};

impl Network {
    pub(super) fn handle_event(&mut self, now: Instant, event: Event, on_event: EventHandler<'_>) {
        match event {
            Event::Accepted(key, remote) if self.exceeds_host_limit(remote) => {
                self.reactor.close(key, false);
                self.reject(remote, Rejection::ConnectionLimit, on_event);
            }
            Event::Accepted(key, remote) => {
                let local = self.reactor.connection_address(key).unwrap_or(self.address);
                let connection = Connection {
                    key,
                    peer: Peer { connection: key.bits(), remote, local },
                    last_request: now,
                    pending_response_bytes: 0,
                    has_request: false,
                    is_held: false,
                    is_throttled: false,
                    is_flooding: false,
                    response_bytes: 0,
                    frame_backlog: 0,
                    last_progress: now,
                };
                self.connections.insert(key.bits(), connection);
            }
            Event::Received(key) => self.handle_input(now, key, on_event),
            // After a half-close, the client can neither pause nor tear down its session: end it. Pending responses are
            // still sent.
            Event::Ended(key) => {
                self.forget(now, key, on_event);
                self.reactor.close(key, true);
            }
            Event::Closed(key, _) => self.forget(now, key, on_event),
            Event::Connected(_) | Event::Woken => {}
        }
    }

    /// Whether the host of an address has the maximum number of connections. Linear in the number of connections.
    fn exceeds_host_limit(&self, remote: SocketAddr) -> bool {
        let host = host_prefix(remote.ip());
        let is_same_host = |connection: &&Connection| host_prefix(connection.peer.remote.ip()) == host;
        self.connections.values().filter(is_same_host).count()
            >= self.config.max_clients_per_host.saturating_add(SPARE_CONNECTIONS_PER_HOST)
    }

    fn forget(&mut self, now: Instant, key: Key, on_event: EventHandler<'_>) {
        if let Some(connection) = self.connections.remove(&key.bits()) {
            if !connection.has_request {
                self.reject(connection.peer.remote, Rejection::NoRequest, on_event);
            }
            self.sessions.handle_closed(key.bits());
            self.handle_session_events(now, on_event);
        }
    }

    /// Handles the complete messages of a connection, at most [`MESSAGES_PER_TURN`]. The rest follow in the next turn.
    fn handle_input(&mut self, now: Instant, key: Key, on_event: EventHandler<'_>) {
        for _ in 0..MESSAGES_PER_TURN {
            let is_accepted = self.reactor.pending_output(key) == 0;
            let Some(connection) = self.connections.get_mut(&key.bits()) else { return };
            if is_accepted {
                connection.pending_response_bytes = 0;
            }
            connection.is_held = connection.pending_response_bytes > RESPONSE_BYTES;
            if connection.is_held {
                return;
            }
            if !self.handle_message(now, key, on_event) {
                if let Some(connection) = self.connections.get_mut(&key.bits())
                    && std::mem::take(&mut connection.is_throttled)
                {
                    self.reactor.resume(key);
                }
                return;
            }
        }
        self.throttle(key, on_event);
    }

    /// Handles the first message of a connection's input. Returns whether there may be another one.
    fn handle_message(&mut self, now: Instant, key: Key, on_event: EventHandler<'_>) -> bool {
        let description = self.description.clone();
        let stream = self.stream_state(now, description.as_deref());
        let Some(connection) = self.connections.get_mut(&key.bits()) else { return false };
        let (input, output) = self.reactor.buffers(key);
        let (count, message) = next_message(input);
        let before = output.len();
        let mut invalid = None;
        match message {
            Message::Incomplete => {
                self.reactor.consume(key, count);
                return false;
            }
            Message::Request(request) => {
                connection.last_request = now;
                connection.has_request = true;
                self.sessions.handle_request(now, &connection.peer, &stream, &request, output);
            }
            Message::Interleaved { channel, packet } => {
                let id = self.sessions.handle_interleaved(now, key.bits(), channel);
                if let Some(player) = id.and_then(|id| self.players.get_mut(&id)) {
                    player.handle_rtcp(self.identity.ssrc, packet);
                }
            }
            Message::Response => {}
            Message::Invalid(status) => {
                self.sessions.handle_invalid(status, output);
                connection.has_request = true;
                invalid = Some((connection.peer.remote, status));
            }
        }
        let response_bytes = output.len() - before;
        connection.pending_response_bytes += response_bytes;
        connection.response_bytes += response_bytes as u64;
        self.reactor.consume(key, count);
        self.handle_session_events(now, on_event);
        if let Some((peer, status)) = invalid {
            self.reject(peer, Rejection::InvalidMessage(status.code()), on_event);
            self.forget(now, key, on_event);
            self.reactor.close(key, true);
        }
        true
    }

    /// Defers the remaining messages of a connection to the next turn and stops reading from it.
    fn throttle(&mut self, key: Key, on_event: EventHandler<'_>) {
        let Some(connection) = self.connections.get_mut(&key.bits()) else { return };
        connection.is_throttled = true;
        let (peer, is_first) =
            (connection.peer.remote, !std::mem::replace(&mut connection.is_flooding, true));
        self.has_throttled = true;
        self.reactor.pause(key);
        if is_first {
            self.reject(peer, Rejection::Flood, on_event);
        }
    }

    /// Resumes held and throttled connections.
    pub(super) fn resume_held(&mut self, now: Instant, on_event: EventHandler<'_>) {
        self.has_throttled = false;
        let is_waiting = |connection: &&Connection| connection.is_held || connection.is_throttled;
        let held = self.connections.values().filter(is_waiting);
        for key in held.map(|connection| connection.key).collect::<Vec<_>>() {
            self.handle_input(now, key, on_event);
        }
    }

    /// Closes connections that accept no output, and those without a session and without requests.
    pub(super) fn close_stalled_and_silent(&mut self, now: Instant, on_event: EventHandler<'_>) {
        let mut expired = Vec::new();
        for (number, connection) in &mut self.connections {
            let unsent = self.reactor.pending_output(connection.key);
            let backlog = unsent as i64 - connection.response_bytes as i64;
            if unsent == 0 || backlog != connection.frame_backlog {
                (connection.frame_backlog, connection.last_progress) = (backlog, now);
            }
            let is_stalled =
                now.saturating_duration_since(connection.last_progress) >= self.config.stall_timeout;
            let is_silent = now.saturating_duration_since(connection.last_request) >= REQUEST_TIMEOUT;
            if is_stalled || (is_silent && !self.sessions.has_session(*number)) {
                expired.push((connection.key, is_stalled));
            }
        }
        for (key, is_stalled) in expired {
            if is_stalled {
                if let Some(connection) = self.connections.get(&key.bits()) {
                    self.reject(connection.peer.remote, Rejection::Stalled, on_event);
                }
                let uses = |route: &Route| matches!(route, Route::Tcp { key: other, .. } if *other == key);
                let ids = self.players.iter().filter(|(_, player)| uses(&player.route)).map(|(id, _)| *id);
                for id in ids.collect::<Vec<_>>() {
                    self.remove_player(now, id, StopReason::Stalled, on_event);
                }
            }
            self.forget(now, key, on_event);
            self.reactor.close(key, false);
        }
    }
}
