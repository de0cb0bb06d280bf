//! Two peer connections and a network between them, in virtual time.
#![allow(dead_code, clippy::unwrap_used, missing_docs, unreachable_pub)]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use netdyno_rtc_core::{
    Arena, Certificate, ChannelId, ChannelOptions, Config, Event, Kind, Message, PeerConnection, PeerState,
    SendError,
};

pub static CERTIFICATES: LazyLock<[Arc<Certificate>; 2]> =
    LazyLock::new(|| [0, 1].map(|_| Arc::new(Certificate::generate().unwrap())));

pub fn config(side: usize) -> Config {
    Config::new(Arc::clone(&CERTIFICATES[side]))
}

pub fn address(side: usize) -> SocketAddr {
    SocketAddr::new([192, 0, 2, 1 + side as u8].into(), 5000)
}

/// The datagrams of one system call.
pub struct Flying {
    pub at: Instant,
    pub from: usize,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub bytes: Vec<u8>,
    pub segment_bytes: usize,
}

/// The fate of datagrams: `false` drops them. It may modify them.
pub type Filter = Box<dyn FnMut(&mut Flying) -> bool>;

pub struct Net {
    pub start: Instant,
    pub now: Instant,
    pub peers: [PeerConnection; 2],
    pub delay: Duration,
    pub flying: VecDeque<Flying>,
    pub filter: Option<Filter>,
    pub events: [Vec<Event>; 2],
    pub messages: [Vec<Message>; 2],
    /// Whether each side reads its messages when they arrive.
    pub reads: [bool; 2],
    pub arena: Arena,
    /// Datagrams that each side has sent.
    pub sent: [usize; 2],
}

impl Net {
    pub fn with(configs: [Config; 2]) -> Self {
        let now = Instant::now();
        let mut seed = 0;
        let peers = configs.map(|config| {
            seed += 1;
            PeerConnection::new(Arc::new(config), [seed; 32], now).unwrap()
        });
        let mut net = Self {
            start: now,
            now,
            peers,
            delay: Duration::from_millis(10),
            flying: VecDeque::new(),
            filter: None,
            events: [vec![], vec![]],
            messages: [vec![], vec![]],
            reads: [true; 2],
            arena: Arena::default(),
            sent: [0; 2],
        };
        for side in 0..2 {
            net.peers[side].add_local_address(now, address(side));
        }
        net
    }

    pub fn new() -> Self {
        Self::with([config(0), config(1)])
    }

    /// Side 0 offers, side 1 answers; no time passes.
    pub fn signal(&mut self) {
        let offer = self.peers[0].create_offer(self.now, false).unwrap();
        let answer = self.peers[1].accept_offer(self.now, &offer).unwrap();
        self.peers[0].accept_answer(self.now, &answer).unwrap();
    }

    /// A connected pair with one open channel that side 0 created with these options; returns its ids at both
    /// sides.
    pub fn connected(options: ChannelOptions) -> (Self, [ChannelId; 2]) {
        Self::connected_with([config(0), config(1)], options)
    }

    pub fn connected_with(configs: [Config; 2], options: ChannelOptions) -> (Self, [ChannelId; 2]) {
        let mut net = Self::with(configs);
        let near = net.peers[0].create_channel(net.now, "test", options).unwrap();
        net.signal();
        net.run(Duration::from_secs(1));
        let far = net.incoming(1);
        assert_eq!(far.len(), 1, "{:?}", net.events);
        (net, [near, far[0]])
    }

    /// Channels opened by the other side.
    pub fn incoming(&self, side: usize) -> Vec<ChannelId> {
        let incoming = self.events[side].iter();
        incoming.filter_map(|event| if let Event::Incoming(id) = event { Some(*id) } else { None }).collect()
    }

    pub fn count(&self, side: usize, event: &Event) -> usize {
        self.events[side].iter().filter(|seen| *seen == event).count()
    }

    pub fn has(&self, side: usize, event: &Event) -> bool {
        self.count(side, event) > 0
    }

    pub fn state(&self, side: usize) -> PeerState {
        self.peers[side].state()
    }

    /// Collects the output of both sides, without time passing.
    pub fn collect(&mut self) {
        for side in 0..2 {
            self.drain(side);
            while let Some(transmit) = self.peers[side].poll_transmit(self.now, &mut self.arena, 64) {
                let bytes = self.arena.filled(&transmit).to_vec();
                check_segments(&bytes, transmit.segment_bytes);
                self.sent[side] += bytes.len().div_ceil(transmit.segment_bytes);
                let mut flying = Flying {
                    at: self.now + self.delay,
                    from: side,
                    local: transmit.local,
                    remote: transmit.remote,
                    bytes,
                    segment_bytes: transmit.segment_bytes,
                };
                if self.filter.as_mut().is_none_or(|filter| filter(&mut flying)) {
                    self.flying.push_back(flying);
                }
            }
            self.drain(side);
        }
    }

    fn drain(&mut self, side: usize) {
        let peer = &mut self.peers[side];
        while let Some(event) = peer.poll_event() {
            self.events[side].push(event);
        }
        while self.reads[side] {
            let Some(message) = peer.recv() else { break };
            self.messages[side].push(message);
        }
    }

    /// Advances to the next event, at most to `until`.
    pub fn step(&mut self, until: Instant) {
        self.collect();
        let timers = self.peers.iter().filter_map(PeerConnection::next_deadline);
        let next = timers.chain(self.flying.iter().map(|flying| flying.at)).min();
        self.now = self.now.max(next.unwrap_or(until).min(until));
        while let Some(at) = self.flying.iter().position(|flying| flying.at <= self.now) {
            let mut flying = self.flying.remove(at).unwrap();
            self.deliver(1 - flying.from, &mut flying);
        }
        for peer in &mut self.peers {
            if peer.next_deadline().is_some_and(|at| at <= self.now) {
                peer.handle_timeout(self.now);
            }
        }
        self.collect();
    }

    pub fn deliver(&mut self, to: usize, flying: &mut Flying) {
        let (local, remote) = (flying.remote, flying.local);
        self.peers[to].handle_datagrams(self.now, local, remote, &mut flying.bytes, flying.segment_bytes);
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step(until);
        }
    }

    /// Runs until the condition holds; panics after a minute.
    pub fn run_until(&mut self, what: impl Fn(&Self) -> bool) {
        let until = self.now + Duration::from_secs(60);
        self.collect();
        while !what(self) {
            assert!(
                self.now < until,
                "never: {:?} {:?}",
                self.events,
                self.messages.each_ref().map(Vec::len)
            );
            self.step(until);
        }
    }

    /// Sends, and waits for buffer space as often as needed.
    pub fn send(&mut self, side: usize, channel: ChannelId, kind: Kind, data: &[u8]) {
        for _ in 0..100_000 {
            match self.peers[side].send(self.now, channel, kind, data) {
                Ok(()) => return,
                Err(SendError::WouldBlock) => self.step(self.now + Duration::from_secs(1)),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("no room");
    }
}

/// Each datagram of a batch has the length of its DTLS record.
fn check_segments(bytes: &[u8], segment_bytes: usize) {
    assert!(segment_bytes > 0 && !bytes.is_empty());
    for datagram in bytes.chunks(segment_bytes).filter(|_| bytes.len() > segment_bytes) {
        // DTLS 1.2 has its length at the end of a longer header.
        let header_bytes = if datagram[0] == 23 { 13 } else { 5 };
        let length = u16::from_be_bytes([datagram[header_bytes - 2], datagram[header_bytes - 1]]);
        assert!(datagram[0] == 23 || datagram[0] & 0xFC == 0x2C, "{:x}", datagram[0]);
        assert_eq!(datagram.len(), header_bytes + usize::from(length));
    }
}
