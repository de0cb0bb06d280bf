//! Two associations with a wire between them: each test says what the wire does.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_sctp::wire::{Chunk, Header, PacketWriter, RawChunk};
use netdyno_sctp::{
    Association, Config, Event, Message, Ppid, Reliability, SendError, SendOptions, State, StreamId,
};

pub const A: usize = 0;
pub const B: usize = 1;
pub const RELIABLE: SendOptions = SendOptions { unordered: false, reliability: Reliability::Reliable };

/// What the wire does with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    IsLost,
    ArrivesTwice,
}

/// A packet that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub from: usize,
    pub at: Duration,
    pub bytes: Vec<u8>,
}

type Wire = Box<dyn FnMut(&Sent) -> Fate>;

pub struct Pair {
    pub now: Instant,
    pub start: Instant,
    pub ends: [Association; 2],
    /// Without `BufferedAmountLow`.
    pub events: [Vec<Event>; 2],
    pub low: [Vec<StreamId>; 2],
    pub messages: [Vec<Message>; 2],
    /// Whether messages are taken as they come.
    pub is_reading: bool,
    /// One way.
    pub delay: Duration,
    /// Longer packets are lost.
    pub mtu: usize,
    pub wire: Wire,
    pub sent: Vec<Sent>,
    under_way: VecDeque<(Instant, usize, Vec<u8>)>,
}

pub fn config(change: impl FnOnce(&mut Config)) -> Arc<Config> {
    let mut config = Config::default();
    change(&mut config);
    Arc::new(config)
}

impl Pair {
    pub fn new(a: Arc<Config>, b: Arc<Config>) -> Self {
        Self::seeded(a, b, 1)
    }

    pub fn seeded(a: Arc<Config>, b: Arc<Config>, seed: u8) -> Self {
        let now = Instant::now();
        let end = |config, seed| Association::new(config, [seed; 32], now).unwrap();
        Self {
            now,
            start: now,
            ends: [end(a, seed), end(b, seed + 100)],
            events: Default::default(),
            low: Default::default(),
            messages: Default::default(),
            is_reading: true,
            delay: Duration::from_millis(5),
            mtu: usize::MAX,
            wire: Box::new(|_| Fate::Arrives),
            sent: Vec::new(),
            under_way: VecDeque::new(),
        }
    }

    pub fn plain() -> Self {
        Self::new(config(|_| {}), config(|_| {}))
    }

    /// Connected from A, with the events of that taken.
    pub fn connected(a: Arc<Config>, b: Arc<Config>) -> Self {
        let mut pair = Self::new(a, b);
        pair.ends[A].connect(pair.now);
        pair.run(Duration::from_millis(100));
        assert_eq!(pair.states(), [State::Established; 2]);
        assert_eq!(pair.events, [vec![Event::Connected], vec![Event::Connected]]);
        pair.events = Default::default();
        pair
    }

    pub fn states(&self) -> [State; 2] {
        [self.ends[A].state(), self.ends[B].state()]
    }

    pub fn send(&mut self, from: usize, stream: u16, message: &[u8]) {
        self.ends[from].send(self.now, StreamId(stream), Ppid::BINARY, message, RELIABLE).unwrap();
    }

    /// The same, waiting until there is room.
    pub fn send_when_writable(&mut self, from: usize, stream: u16, message: &[u8]) {
        let deadline = self.now + Duration::from_secs(60);
        while let Err(error) =
            self.ends[from].send(self.now, StreamId(stream), Ppid::BINARY, message, RELIABLE)
        {
            assert!(error == SendError::WouldBlock && self.now < deadline, "{error}");
            self.run(Duration::from_millis(10));
        }
    }

    /// Everything that the two do in this time.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut steps = 0;
        loop {
            self.flush();
            let next = self.next_moment().filter(|next| *next <= end);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            self.step();
            steps += 1;
            assert!(steps < 2_000_000, "no end");
        }
        self.now = end;
    }

    fn next_moment(&self) -> Option<Instant> {
        let deadlines = self.ends.iter().filter_map(Association::next_deadline);
        deadlines.chain(self.under_way.front().map(|(at, ..)| *at)).min()
    }

    fn step(&mut self) {
        while self.under_way.front().is_some_and(|(at, ..)| *at <= self.now) {
            let (_, to, packet) = self.under_way.pop_front().unwrap();
            self.ends[to].handle_packet(self.now, &packet);
        }
        for end in &mut self.ends {
            if end.next_deadline().is_some_and(|deadline| deadline <= self.now) {
                end.handle_timeout(self.now);
                let next = end.next_deadline();
                assert!(next.is_none_or(|next| next > self.now), "a deadline that stays: {end:#?}");
            }
        }
    }

    /// What both have to say, at once.
    pub fn flush(&mut self) {
        for from in [A, B] {
            self.drain(from);
            for bytes in self.packets(from) {
                let sent = Sent { from, at: self.now - self.start, bytes };
                let copies = match (self.wire)(&sent) {
                    _ if sent.bytes.len() > self.mtu => 0,
                    Fate::Arrives => 1,
                    Fate::IsLost => 0,
                    Fate::ArrivesTwice => 2,
                };
                for _ in 0..copies {
                    self.under_way.push_back((self.now + self.delay, 1 - from, sent.bytes.clone()));
                }
                self.sent.push(sent);
            }
            self.drain(from);
        }
    }

    /// The packets that one side has for the wire now.
    pub fn packets(&mut self, from: usize) -> Vec<Vec<u8>> {
        let mut out = vec![0; 16_384];
        let mut packets = Vec::new();
        while let Some(length) = self.ends[from].poll_transmit(self.now, &mut out) {
            packets.push(out[..length].to_vec());
            assert!(packets.len() < 100_000, "no end");
        }
        packets
    }

    fn drain(&mut self, end: usize) {
        if self.is_reading {
            while let Some(message) = self.ends[end].recv() {
                self.messages[end].push(message);
            }
        }
        while let Some(event) = self.ends[end].poll_event() {
            match event {
                Event::BufferedAmountLow(stream) => self.low[end].push(stream),
                event => self.events[end].push(event),
            }
        }
    }

    /// What a side got on a stream.
    pub fn received(&self, end: usize, stream: u16) -> Vec<Vec<u8>> {
        let messages = self.messages[end].iter().filter(|message| message.stream == StreamId(stream));
        messages.map(|message| message.data.to_vec()).collect()
    }

    /// Gives a packet to one side, and the answers to it.
    pub fn inject(&mut self, to: usize, packet: &[u8]) -> Vec<Vec<u8>> {
        self.ends[to].handle_packet(self.now, packet);
        self.packets(to)
    }

    /// The first TSN of a side, as its INIT or INIT ACK said.
    pub fn first_tsn(&self, from: usize) -> u32 {
        let sent = self.sent.iter().filter(|sent| sent.from == from);
        let tsn = sent.clone().find_map(|sent| match chunks(&sent.bytes)[..] {
            [Chunk::Init(init) | Chunk::InitAck(init)] => Some(init.initial_tsn.0),
            _ => None,
        });
        tsn.unwrap()
    }

    /// The header of the last packet from one side whose tag is not 0.
    pub fn header(&self, from: usize) -> Header {
        let headers = self.sent.iter().rev().filter(|sent| sent.from == from).map(|sent| header(&sent.bytes));
        headers.clone().find(|header| header.verification_tag != 0).unwrap()
    }
}

pub fn header(packet: &[u8]) -> Header {
    Header::parse(packet).unwrap().0
}

/// The chunks of a packet that is in order.
pub fn chunks(packet: &[u8]) -> Vec<Chunk<'_>> {
    raw_chunks(packet).iter().map(|chunk| Chunk::parse(chunk).unwrap()).collect()
}

pub fn raw_chunks(packet: &[u8]) -> Vec<RawChunk<'_>> {
    Header::parse(packet).unwrap().1.map(Result::unwrap).collect()
}

/// The types of a packet's chunks.
pub fn kinds(packet: &[u8]) -> Vec<u8> {
    raw_chunks(packet).iter().map(|chunk| chunk.kind).collect()
}

/// A packet made by hand: type, flags and value of each chunk.
pub fn packet(header: Header, chunks: &[(u8, u8, &[u8])]) -> Vec<u8> {
    let mut out = vec![0; 65_000];
    let mut writer = PacketWriter::new(&mut out, header);
    for (kind, flags, value) in chunks {
        writer.chunk(*kind, *flags, value.len(), |place| place.copy_from_slice(value));
    }
    let length = writer.finish(false);
    out.truncate(length);
    out
}

/// A packet made with the writers of the chunks.
pub fn written(header: Header, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
    let mut out = vec![0; 65_000];
    let mut writer = PacketWriter::new(&mut out, header);
    write(&mut writer);
    let length = writer.finish(false);
    out.truncate(length);
    out
}

/// Bytes that differ from message to message and from place to place.
pub fn payload(length: usize, salt: usize) -> Vec<u8> {
    (0..length).map(|i| ((i * 31) ^ (i >> 8) ^ salt.wrapping_mul(17)) as u8).collect()
}
