//! The connections: what they ask, and whether they take what they are sent.

use std::net::SocketAddr;
use std::time::Instant;

use netdyno_io::tcp::{Event, Key};

use super::Left;
use super::connection::Connection;
use super::limits::{ANSWER_BYTES, SILENCE, SPARE_CONNECTIONS_PER_HOST};
use super::network::{Network, Told};
use super::player::Way;
use crate::rtsp::{Peer, Unit, host_of, next_unit};

impl Network {
    pub(super) fn handle_event(&mut self, now: Instant, event: Event, told: Told<'_>) {
        match event {
            Event::Accepted(key, remote) if self.has_enough_of(remote) => self.reactor.close(key, false),
            Event::Accepted(key, remote) => {
                let local = self.reactor.connection_address(key).unwrap_or(self.address);
                let connection = Connection {
                    key,
                    peer: Peer { connection: key.bits(), remote, local },
                    asked: now,
                    answers: 0,
                    is_held: false,
                    answered: 0,
                    pending: 0,
                    taken: now,
                };
                self.connections.insert(key.bits(), connection);
            }
            Event::Received(key) => self.handle_input(now, key, told),
            // Who sends no more can ask for no pause, and no end: it is over. What was asked before is answered.
            Event::Ended(key) => {
                self.forget(now, key, told);
                self.reactor.close(key, true);
            }
            Event::Closed(key, _) => self.forget(now, key, told),
            Event::Connected(_) | Event::Woken => {}
        }
    }

    /// Whether the host has as many connections as one may. One pass over all of them.
    fn has_enough_of(&self, remote: SocketAddr) -> bool {
        let host = host_of(remote.ip());
        let its = self.connections.values().filter(|connection| host_of(connection.peer.remote.ip()) == host);
        its.count() >= self.config.max_clients_per_host.saturating_add(SPARE_CONNECTIONS_PER_HOST)
    }

    fn forget(&mut self, now: Instant, key: Key, told: Told<'_>) {
        if self.connections.remove(&key.bits()).is_some() {
            self.sessions.handle_closed(key.bits());
            self.handle_sessions(now, told);
        }
    }

    /// Deals with all that a connection has sent.
    fn handle_input(&mut self, now: Instant, key: Key, told: Told<'_>) {
        loop {
            let stream = self.stream(now);
            let is_taken = self.reactor.pending_output(key) == 0;
            let Some(connection) = self.connections.get_mut(&key.bits()) else { return };
            if is_taken {
                connection.answers = 0;
            }
            connection.is_held = connection.answers > ANSWER_BYTES;
            if connection.is_held {
                return;
            }
            let (input, output) = self.reactor.buffers(key);
            let (count, unit) = next_unit(input);
            let before = output.len();
            let mut is_over = false;
            match unit {
                Unit::Incomplete => return self.reactor.consume(key, count),
                Unit::Request(request) => {
                    connection.asked = now;
                    self.sessions.handle_request(now, &connection.peer, &stream, &request, output);
                }
                Unit::Interleaved { channel, packet } => {
                    let id = self.sessions.handle_interleaved(now, key.bits(), channel);
                    if let Some(player) = id.and_then(|id| self.players.get_mut(&id)) {
                        player.handle_rtcp(self.identity.ssrc, packet);
                    }
                }
                Unit::Ignored => {}
                Unit::Broken(status) => {
                    self.sessions.handle_broken(status, output);
                    is_over = true;
                }
            }
            let answered = output.len() - before;
            connection.answers += answered;
            connection.answered += answered as u64;
            self.reactor.consume(key, count);
            self.handle_sessions(now, told);
            if is_over {
                self.forget(now, key, told);
                self.reactor.close(key, true);
            }
        }
    }

    /// Goes on with the requests of those who have taken their answers.
    pub(super) fn resume_held(&mut self, now: Instant, told: Told<'_>) {
        let held = self.connections.values().filter(|connection| connection.is_held);
        for key in held.map(|connection| connection.key).collect::<Vec<_>>() {
            self.handle_input(now, key, told);
        }
    }

    /// Closes the connections that take nothing, and those that neither have a session nor ask for one.
    pub(super) fn close_stalled_and_silent(&mut self, now: Instant, told: Told<'_>) {
        let mut over = Vec::new();
        for (number, connection) in &mut self.connections {
            let unsent = self.reactor.pending_output(connection.key);
            let pending = unsent as i64 - connection.answered as i64;
            if unsent == 0 || pending != connection.pending {
                (connection.pending, connection.taken) = (pending, now);
            }
            let is_stalled = now.saturating_duration_since(connection.taken) >= self.config.stall;
            let is_silent = now.saturating_duration_since(connection.asked) >= SILENCE;
            if is_stalled || (is_silent && !self.sessions.has_session(*number)) {
                over.push((connection.key, is_stalled));
            }
        }
        for (key, is_stalled) in over {
            if is_stalled {
                let is_its = |way: &Way| matches!(way, Way::Tcp { key: by, .. } if *by == key);
                let ids = self.players.iter().filter(|(_, player)| is_its(&player.way)).map(|(id, _)| *id);
                for id in ids.collect::<Vec<_>>() {
                    self.remove_player(now, id, Left::Stalled, told);
                }
            }
            self.forget(now, key, told);
            self.reactor.close(key, false);
        }
    }
}
