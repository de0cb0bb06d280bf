//! The network thread. Each turn handles all events without waiting for a client.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_io::tcp::TcpReactor;
use netdyno_io::{ReceiveBatch, enable_precise_waits};
use netdyno_mjpeg_core::{CLOCK_RATE_HZ, Description, InexactDimensions};
use netdyno_rtp::{MediaClock, Timestamp};
use netdyno_rtsp::{SessionEvent, SessionId, Sessions, SessionsConfig, StreamState, Transport};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::connection::Connection;
use super::feeder::{Feeder, FeederEvent};
use super::limits::{
    HOUSEKEEPING, MAX_FAILURES, REJECTION_EVENTS, RTP_RECEIVES, SHUTDOWN_TIMEOUT, THROTTLE_DELAY,
};
use super::player::{Identity, Player, Route, UdpPair};
use super::timeline::Timeline;
use super::{Rejection, Server, ServerConfig, ServerError, ServerEvent, ServerStats, StopReason, Stopper};
use crate::limits::{RTCP_BYTES, RTCP_PER_TURN};

/// The callback for events.
pub(super) type EventHandler<'a> = &'a mut dyn FnMut(ServerEvent);

/// The state of the network thread.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) config: ServerConfig,
    pub(super) address: SocketAddr,
    pub(super) reactor: TcpReactor,
    sockets: UdpPair,
    stopper: Stopper,
    feeder: Feeder,
    /// The buffer for the next frame.
    spare: Vec<u8>,
    pub(super) sessions: Sessions,
    pub(super) identity: Identity,
    random: ChaCha20Rng,
    timeline: Timeline,
    /// SDP of the stream once its dimensions are known.
    pub(super) description: Option<Arc<str>>,
    pub(super) players: BTreeMap<SessionId, Player>,
    pub(super) connections: BTreeMap<u64, Connection>,
    batch: ReceiveBatch,
    stats: ServerStats,
    housekeeping: Instant,
    /// Rejection events since the last housekeeping.
    rejection_events: u32,
    /// Whether messages of a throttled connection wait for the next turn.
    pub(super) has_throttled: bool,
    /// Whether the source has ended.
    has_ended: bool,
}

impl Network {
    pub(super) fn new(server: Server, feeder: Feeder, sessions: SessionsConfig, seed: [u8; 32]) -> Self {
        let Server { config, address, reactor, sockets, stopper, packetizer, ssrc } = server;
        let first = packetizer.next_sequence();
        let mut random = ChaCha20Rng::from_seed(seed);
        let now = Instant::now();
        let clock = MediaClock::new(now, Timestamp(random.next_u32()), CLOCK_RATE_HZ);
        let name = format!("{:016x}", random.next_u64());
        let timeline = Timeline::new(feeder.timing, config.frames_per_s, config.packet_bytes, clock, first);
        Self {
            config,
            address,
            reactor,
            sockets,
            stopper,
            feeder,
            spare: Vec::new(),
            sessions: Sessions::new(sessions, random_seed(&mut random)),
            identity: Identity { ssrc, clock, name },
            random,
            timeline,
            description: None,
            players: BTreeMap::new(),
            connections: BTreeMap::new(),
            batch: ReceiveBatch::new(1),
            stats: ServerStats::default(),
            housekeeping: now + HOUSEKEEPING,
            rejection_events: 0,
            has_throttled: false,
            has_ended: false,
        }
    }

    /// Serves until the source ends or the server is stopped.
    pub(super) fn run(&mut self, on_event: EventHandler<'_>) -> Result<ServerStats, ServerError> {
        enable_precise_waits();
        self.feeder.request(Vec::new());
        if let Some(event) = self.feeder.wait_for_first() {
            self.handle_feeder(Instant::now(), event, on_event)?;
        }
        loop {
            self.reactor.wait(self.timeout(Instant::now()))?;
            let now = Instant::now();
            while let Some(event) = self.reactor.next_event() {
                self.handle_event(now, event, on_event);
            }
            self.resume_held(now, on_event);
            while let Some(event) = self.feeder.poll() {
                self.handle_feeder(now, event, on_event)?;
            }
            let is_ending = self.has_ended || self.stopper.is_requested();
            self.advance(now, is_ending);
            if now >= self.housekeeping {
                self.housekeep(now, on_event);
            }
            self.flush()?;
            if is_ending && self.timeline.is_complete() {
                return Ok(self.stats());
            }
        }
    }

    /// Sends BYE to all clients, closes the connections and stops the source thread.
    pub(super) fn end(mut self, on_event: EventHandler<'_>) {
        let now = Instant::now();
        self.finish_frame();
        for id in self.players.keys().copied().collect::<Vec<_>>() {
            if let Some(player) = self.players.get_mut(&id) {
                player.report(now, &self.identity, &self.sockets, &mut self.reactor, true);
            }
            self.remove_player(now, id, StopReason::ServerStopped, on_event);
        }
        for connection in self.connections.values() {
            self.reactor.close(connection.key, true);
        }
        // Errors no longer matter.
        while self.reactor.flush().is_ok()
            && self.reactor.connections() > 0
            && now.elapsed() < SHUTDOWN_TIMEOUT
        {
            let rest = SHUTDOWN_TIMEOUT.saturating_sub(now.elapsed());
            if self.reactor.wait(Some(rest)).is_err() {
                break;
            }
            while self.reactor.next_event().is_some() {}
        }
        self.feeder.stop();
    }

    /// Time until the next deadline; `None` without clients.
    fn timeout(&self, now: Instant) -> Option<Duration> {
        let is_idle = self.connections.is_empty() && self.sessions.count() == 0;
        let housekeeping = (!is_idle).then_some(self.housekeeping);
        let throttled = self.has_throttled.then_some(now + THROTTLE_DELAY);
        let due = self.timeline.next_deadline().into_iter().chain(housekeeping).chain(throttled).min();
        due.map(|due| due.saturating_duration_since(now))
    }

    /// The state of the stream for a response.
    pub(super) fn stream_state<'a>(&self, now: Instant, description: Option<&'a str>) -> StreamState<'a> {
        StreamState {
            ssrc: self.identity.ssrc,
            next_sequence: self.timeline.next_sequence,
            timestamp: self.identity.clock.at(self.timeline.next_frame_time(now)),
            description,
        }
    }

    /// Adds and removes players according to the events of sessions.
    pub(super) fn handle_session_events(&mut self, now: Instant, on_event: EventHandler<'_>) {
        while let Some(event) = self.sessions.poll_event() {
            let (id, transport, peer) = match event {
                SessionEvent::Play { id, transport, client } => (id, transport, client),
                SessionEvent::Stop { id, reason } => {
                    self.remove_player(now, id, reason.into(), on_event);
                    continue;
                }
            };
            let (is_udp, route) = match transport {
                Transport::Udp { local, rtp, rtcp } => (true, Route::Udp { local, rtp, rtcp, sent: None }),
                Transport::Interleaved { connection, rtp, rtcp } => {
                    let Some(connection) = self.connections.get(&connection) else { continue };
                    (false, Route::Tcp { key: connection.key, rtp, rtcp, queue: VecDeque::new() })
                }
            };
            let seed = random_seed(&mut self.random);
            self.players.insert(id, Player::new(now, peer, route, &self.identity, seed));
            self.timeline.handle_players(now, true);
            on_event(ServerEvent::Started { peer, is_udp, clients: self.players.len() });
        }
    }

    pub(super) fn remove_player(
        &mut self,
        now: Instant,
        id: SessionId,
        reason: StopReason,
        on_event: EventHandler<'_>,
    ) {
        let Some(player) = self.players.remove(&id) else { return };
        self.stats.frames_sent += player.frames;
        self.stats.skipped_frames += player.skipped_frames;
        if self.players.is_empty() {
            self.timeline.handle_players(now, false);
            self.finish_frame();
        }
        on_event(ServerEvent::Stopped {
            peer: player.peer,
            reason,
            frames: player.frames,
            skipped_frames: player.skipped_frames,
            lost_packets: player.last_block.map(|block| block.cumulative_lost),
            clients: self.players.len(),
        });
    }

    /// Handles an event of the source thread.
    fn handle_feeder(
        &mut self,
        now: Instant,
        event: FeederEvent,
        on_event: EventHandler<'_>,
    ) -> Result<(), ServerError> {
        match event {
            FeederEvent::Frame(frame) => {
                self.update_description(frame.dimensions, on_event);
                let unused = self.timeline.handle_frame(now, frame, !self.players.is_empty());
                if let Some(frame) = unused {
                    self.feeder.request(frame.into_buffer());
                }
            }
            FeederEvent::Skipped(cause) => {
                self.stats.skipped_pictures += 1;
                on_event(ServerEvent::PictureSkipped { cause, count: self.stats.skipped_pictures });
            }
            FeederEvent::End { failure: None } => self.has_ended = true,
            FeederEvent::End { failure: Some(last) } => {
                return Err(ServerError::Source { failures: MAX_FAILURES, last });
            }
        }
        Ok(())
    }

    /// Counts a rejection and reports it, unless too many were reported since the last housekeeping.
    pub(super) fn reject(&mut self, peer: SocketAddr, cause: Rejection, on_event: EventHandler<'_>) {
        self.stats.rejections += 1;
        if self.rejection_events < REJECTION_EVENTS {
            self.rejection_events += 1;
            on_event(ServerEvent::Rejected { peer, cause });
        }
    }

    /// Updates the SDP if the dimensions have changed.
    fn update_description(&mut self, dimensions: (u16, u16), on_event: EventHandler<'_>) {
        if self.timeline.dimensions == Some(dimensions) {
            return;
        }
        if let Some(inexact) = InexactDimensions::check(dimensions.0, dimensions.1) {
            on_event(ServerEvent::InexactDimensions(inexact));
        }
        // SETUP determines address and port (RFC 2326 section C.1.3).
        let mut description = Description::new(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        description.dimensions = Some(dimensions);
        description.framerate = self.timeline.frames_per_s();
        self.description = Some(description.write(self.identity.ssrc.0).into());
    }

    /// Starts the frame that is due, unless the server is stopping, and sends the packets that are due.
    fn advance(&mut self, now: Instant, is_ending: bool) {
        if self.players.is_empty() {
            return;
        }
        if !is_ending && self.timeline.is_due(now) {
            self.finish_frame();
            let Some(frame) = self.timeline.start(now) else { return };
            self.feeder.request(std::mem::take(&mut self.spare));
            self.stats.frames += 1;
            self.stats.stream_bytes += frame.wire_bytes() as u64;
            self.receive_rtcp(now);
            for player in self.players.values_mut() {
                player.report(now, &self.identity, &self.sockets, &mut self.reactor, false);
                player.start_frame(&frame);
            }
        }
        if let Some((frame, packets)) = self.timeline.due_packets(now) {
            for player in self.players.values_mut() {
                player.send_slice(&self.sockets, &frame, packets);
            }
        }
    }

    /// Ends the current frame. Its buffer is reused unless a connection's queue still refers to the frame.
    fn finish_frame(&mut self) {
        let Some(frame) = self.timeline.finish() else { return };
        for player in self.players.values_mut() {
            player.send_slice(&self.sockets, &frame, frame.packets);
            player.end_frame(&frame);
        }
        if let Ok(frame) = Arc::try_unwrap(frame) {
            self.spare = frame.into_buffer();
        }
    }

    /// Sends all output, and appends queued frames to connections whose output is empty.
    fn flush(&mut self) -> Result<(), ServerError> {
        self.reactor.flush()?;
        loop {
            let mut is_any = false;
            for player in self.players.values_mut() {
                is_any |= player.send_queued(&mut self.reactor);
            }
            if !is_any {
                return Ok(());
            }
            self.reactor.flush()?;
        }
    }

    fn housekeep(&mut self, now: Instant, on_event: EventHandler<'_>) {
        self.housekeeping = now + HOUSEKEEPING;
        self.rejection_events = 0;
        self.receive_rtcp(now);
        self.sessions.handle_timeout(now);
        self.handle_session_events(now, on_event);
        self.close_stalled_and_silent(now, on_event);
        if !self.players.is_empty() {
            on_event(ServerEvent::Stats(self.stats()));
        }
    }

    fn stats(&self) -> ServerStats {
        let mut stats = self.stats;
        stats.clients = self.players.len();
        for player in self.players.values() {
            stats.frames_sent += player.frames;
            stats.skipped_frames += player.skipped_frames;
        }
        stats
    }

    /// Receives RTCP over UDP. Packets to the RTP port are discarded; some clients send them to open a firewall.
    fn receive_rtcp(&mut self, now: Instant) {
        let Self { sockets, batch, sessions, players, identity, stats, .. } = self;
        let mut datagram = [0; RTCP_BYTES];
        for _ in 0..RTCP_PER_TURN {
            let Ok(Some((bytes, from))) = sockets.rtcp.receive_now(&mut datagram) else { break };
            let ids = sessions.handle_rtcp(now, from);
            stats.foreign_datagrams += u64::from(ids.is_empty());
            for id in ids {
                if let Some(player) = players.get_mut(&id) {
                    player.handle_rtcp(identity.ssrc, &datagram[..bytes]);
                }
            }
        }
        for _ in 0..RTP_RECEIVES {
            if !matches!(sockets.rtp.receive(batch), Ok(1..)) {
                break;
            }
        }
    }
}

/// Draws a seed for another generator.
fn random_seed(random: &mut ChaCha20Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    random.fill_bytes(&mut seed);
    seed
}
