//! The network's thread: one turn after the other, none of which waits for a client.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_io::tcp::TcpReactor;
use netdyno_io::{ReceiveBatch, enable_precise_waits};
use netdyno_mjpeg_core::CLOCK_RATE_HZ;
use netdyno_rtp::{MediaClock, Timestamp};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::connection::Connection;
use super::feeder::{Fed, Feeder};
use super::limits::{FAILURES, FAREWELL, HOUSEKEEPING, RTP_RECEIVES};
use super::player::{Identity, Player, UdpPair, Way};
use super::timeline::Timeline;
use super::{Figures, Left, Server, ServerConfig, ServerError, ServerEvent, Stopper};
use crate::limits::{RTCP_BYTES, RTCP_PER_TURN};
use crate::rtsp::{Delivery, SessionEvent, SessionId, Sessions, SessionsConfig, Stream, Why};

/// Whoever hears what happens.
pub(super) type Told<'a> = &'a mut dyn FnMut(ServerEvent);

/// All that the network's thread has.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) config: ServerConfig,
    pub(super) address: SocketAddr,
    pub(super) reactor: TcpReactor,
    sockets: UdpPair,
    stopper: Stopper,
    feeder: Feeder,
    /// A buffer for the next frame.
    spare: Vec<u8>,
    pub(super) sessions: Sessions,
    pub(super) identity: Identity,
    random: ChaCha20Rng,
    timeline: Timeline,
    pub(super) players: BTreeMap<SessionId, Player>,
    pub(super) connections: BTreeMap<u64, Connection>,
    batch: ReceiveBatch,
    figures: Figures,
    housekeeping: Instant,
    /// The source has no more.
    is_over: bool,
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
            sessions: Sessions::new(sessions, drawn(&mut random)),
            identity: Identity { ssrc, clock, name },
            random,
            timeline,
            players: BTreeMap::new(),
            connections: BTreeMap::new(),
            batch: ReceiveBatch::new(1),
            figures: Figures::default(),
            housekeeping: now + HOUSEKEEPING,
            is_over: false,
        }
    }

    /// Serves, until the source or somebody ends it.
    pub(super) fn run(&mut self, told: Told<'_>) -> Result<Figures, ServerError> {
        enable_precise_waits();
        self.feeder.order(Vec::new());
        if let Some(fed) = self.feeder.first() {
            self.take(Instant::now(), fed, told)?;
        }
        loop {
            self.reactor.wait(self.timeout(Instant::now()))?;
            let now = Instant::now();
            while let Some(event) = self.reactor.next_event() {
                self.handle_event(now, event, told);
            }
            self.resume_held(now, told);
            while let Some(fed) = self.feeder.poll() {
                self.take(now, fed, told)?;
            }
            let is_ending = self.is_over || self.stopper.is_wanted();
            self.advance(now, is_ending);
            if now >= self.housekeeping {
                self.keep_house(now, told);
            }
            self.flush()?;
            if is_ending && self.timeline.is_whole() {
                return Ok(self.figures());
            }
        }
    }

    /// Says goodbye to all, and ends the source's thread.
    pub(super) fn end(mut self, told: Told<'_>) {
        let now = Instant::now();
        self.finish_frame();
        for id in self.players.keys().copied().collect::<Vec<_>>() {
            if let Some(player) = self.players.get_mut(&id) {
                player.report(now, &self.identity, &self.sockets, &mut self.reactor, true);
            }
            self.remove_player(now, id, Left::Served, told);
        }
        for connection in self.connections.values() {
            self.reactor.close(connection.key, true);
        }
        // What cannot be told any more is not told.
        while self.reactor.flush().is_ok() && self.reactor.connections() > 0 && now.elapsed() < FAREWELL {
            let rest = FAREWELL.saturating_sub(now.elapsed());
            if self.reactor.wait(Some(rest)).is_err() {
                break;
            }
            while self.reactor.next_event().is_some() {}
        }
        self.feeder.stop();
    }

    /// Until when nothing is to be done, as far as we know; without clients nothing is.
    fn timeout(&self, now: Instant) -> Option<Duration> {
        let is_idle = self.connections.is_empty() && self.sessions.count() == 0;
        let housekeeping = (!is_idle).then_some(self.housekeeping);
        let due = self.timeline.next_deadline().into_iter().chain(housekeeping).min();
        due.map(|due| due.saturating_duration_since(now))
    }

    /// The stream as a request finds it.
    pub(super) fn stream(&self, now: Instant) -> Stream {
        Stream {
            ssrc: self.identity.ssrc,
            next: self.timeline.next,
            timestamp: self.identity.clock.at(self.timeline.next_moment(now)),
            dimensions: self.timeline.dimensions,
            frames_per_s: self.timeline.frames_per_s(),
        }
    }

    /// Lets those play who want to, and no longer those who do not.
    pub(super) fn handle_sessions(&mut self, now: Instant, told: Told<'_>) {
        while let Some(event) = self.sessions.poll_event() {
            let (id, delivery, peer) = match event {
                SessionEvent::Play(id, delivery, peer) => (id, delivery, peer),
                SessionEvent::Stop(id, why) => {
                    let why = match why {
                        Why::Paused => Left::Paused,
                        Why::Teardown => Left::Ended,
                        Why::TimedOut => Left::Silent,
                        Why::Disconnected => Left::Disconnected,
                    };
                    self.remove_player(now, id, why, told);
                    continue;
                }
            };
            let (is_udp, way) = match delivery {
                Delivery::Udp { local, rtp, rtcp } => (true, Way::Udp { local, rtp, rtcp, taken: None }),
                Delivery::Interleaved { connection, rtp, rtcp } => {
                    let Some(connection) = self.connections.get(&connection) else { continue };
                    (false, Way::Tcp { key: connection.key, rtp, rtcp, queue: VecDeque::new() })
                }
            };
            let seed = drawn(&mut self.random);
            self.players.insert(id, Player::new(now, peer, way, &self.identity, seed));
            self.timeline.handle_players(now, true);
            told(ServerEvent::Started { peer, is_udp, clients: self.players.len() });
        }
    }

    pub(super) fn remove_player(&mut self, now: Instant, id: SessionId, why: Left, told: Told<'_>) {
        let Some(player) = self.players.remove(&id) else { return };
        self.figures.frames_sent += player.frames;
        self.figures.frames_left_out += player.left_out;
        if self.players.is_empty() {
            self.timeline.handle_players(now, false);
            self.finish_frame();
        }
        told(ServerEvent::Stopped {
            peer: player.peer,
            why,
            frames: player.frames,
            left_out: player.left_out,
            lost_packets: player.reported.map(|block| block.cumulative_lost),
            clients: self.players.len(),
        });
    }

    /// Takes what the source's thread has.
    fn take(&mut self, now: Instant, fed: Fed, told: Told<'_>) -> Result<(), ServerError> {
        match fed {
            Fed::Frame(frame) => {
                let unused = self.timeline.handle_frame(now, frame, !self.players.is_empty());
                if let Some(frame) = unused {
                    self.feeder.order(frame.into_buffer());
                }
            }
            Fed::Refused(why) => {
                self.figures.refused += 1;
                told(ServerEvent::Refused(why, self.figures.refused));
            }
            Fed::End { gave_up: None } => self.is_over = true,
            Fed::End { gave_up: Some(last) } => return Err(ServerError::Source(FAILURES, last)),
        }
        Ok(())
    }

    /// Begins the frame that is due, unless it is to be the end, and sends of the one on its way what is due.
    fn advance(&mut self, now: Instant, is_ending: bool) {
        if self.players.is_empty() {
            return;
        }
        if !is_ending && self.timeline.is_due(now) {
            self.finish_frame();
            let Some(frame) = self.timeline.begin(now) else { return };
            self.feeder.order(std::mem::take(&mut self.spare));
            self.figures.frames += 1;
            self.figures.stream_bytes += frame.wire_bytes() as u64;
            self.receive_rtcp(now);
            for player in self.players.values_mut() {
                player.report(now, &self.identity, &self.sockets, &mut self.reactor, false);
                player.begin(&frame);
            }
        }
        if let Some((frame, packets)) = self.timeline.due_packets(now) {
            for player in self.players.values_mut() {
                player.send_slice(&self.sockets, &frame, packets);
            }
        }
    }

    /// The time of the frame on its way is over. Its buffer is the next one's, once no connection's queue has it.
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

    /// Hands all that is written to the sockets; and whole frames, to connections that have taken what they had.
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

    fn keep_house(&mut self, now: Instant, told: Told<'_>) {
        self.housekeeping = now + HOUSEKEEPING;
        self.receive_rtcp(now);
        self.sessions.handle_timeout(now);
        self.handle_sessions(now, told);
        self.close_stalled_and_silent(now, told);
        if !self.players.is_empty() {
            told(ServerEvent::Figures(self.figures()));
        }
    }

    fn figures(&self) -> Figures {
        let mut figures = self.figures;
        figures.clients = self.players.len();
        for player in self.players.values() {
            figures.frames_sent += player.frames;
            figures.frames_left_out += player.left_out;
        }
        figures
    }

    /// Takes the reports of those who play by UDP. What comes to the port of RTP is thrown away: some open their firewalls by it.
    fn receive_rtcp(&mut self, now: Instant) {
        let Self { sockets, batch, sessions, players, identity, .. } = self;
        let mut datagram = [0; RTCP_BYTES];
        for _ in 0..RTCP_PER_TURN {
            let Ok(Some((bytes, from))) = sockets.rtcp.receive_now(&mut datagram) else { break };
            for id in sessions.handle_rtcp(now, from) {
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

/// A seed for something else.
fn drawn(random: &mut ChaCha20Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    random.fill_bytes(&mut seed);
    seed
}
