//! Tests of the receiving half as a whole, and what they share.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use super::*;
use crate::types::{Fsn, Mid, Ssn};
use crate::wire::{Header, RawChunk};

mod forward;
mod hostile;
mod measure;
mod order;
mod random;
mod receive_window;
mod sacks;

/// A receiving half, a clock, and the sender's next TSN.
pub(super) struct Rig {
    pub(super) inbound: Inbound,
    pub(super) now: Instant,
    pub(super) tsn: Tsn,
}

/// A SACK as the peer reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) cumulative: Tsn,
    pub(super) window: u32,
    pub(super) gaps: Vec<(u16, u16)>,
    pub(super) duplicates: usize,
}

impl Rig {
    pub(super) fn new(config: &Config, initial: Tsn, interleaving: bool) -> Self {
        let mut inbound = Inbound::new(config);
        inbound.open(initial, 1000, interleaving);
        Self { inbound, now: Instant::now(), tsn: initial }
    }

    /// With the usual settings, not interleaving, past the first SACK.
    pub(super) fn usual() -> Self {
        Self::usual_with(&Config::default())
    }

    pub(super) fn usual_with(config: &Config) -> Self {
        let mut rig = Self::new(config, Tsn(u32::MAX - 2), false);
        rig.packet(&[chunk(rig.tsn, 999, 0)]);
        assert_eq!(rig.taken(), 1);
        rig.sack();
        rig.tsn = rig.tsn.next();
        rig
    }

    /// One packet with these chunks.
    pub(super) fn packet(&mut self, chunks: &[Data<'_>]) {
        self.try_packet(chunks).unwrap();
    }

    pub(super) fn try_packet(&mut self, chunks: &[Data<'_>]) -> Result<(), ProtocolViolation> {
        let result = chunks.iter().try_for_each(|data| self.inbound.handle_data(self.now, data));
        self.inbound.end_of_packet(self.now);
        if result.is_ok() {
            self.inbound.audit();
        }
        result
    }

    /// The SACK that would go out, due or not.
    pub(super) fn sack(&mut self) -> Seen {
        let mut out = [0; 16_384];
        let header = Header { source_port: 1, destination_port: 2, verification_tag: 3 };
        let mut packet = PacketWriter::new(&mut out, header);
        assert!(self.inbound.write_sack(&mut packet));
        let length = packet.finish(false);
        let (_, mut chunks) = Header::parse(&out[..length]).unwrap();
        let chunk: RawChunk<'_> = chunks.next().unwrap().unwrap();
        let sack = Sack::parse(&chunk).unwrap();
        Seen {
            cumulative: sack.cumulative_tsn,
            window: sack.window_bytes,
            gaps: sack.gaps.collect(),
            duplicates: sack.duplicates,
        }
    }

    /// Takes all messages and counts them.
    pub(super) fn taken(&mut self) -> usize {
        let count = std::iter::from_fn(|| self.inbound.recv()).count();
        self.inbound.audit();
        count
    }

    /// Takes all messages and gives their bytes.
    pub(super) fn texts(&mut self) -> Vec<String> {
        let messages = std::iter::from_fn(|| self.inbound.recv());
        messages.map(|message| String::from_utf8_lossy(&message.data).into_owned()).collect()
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.inbound.handle_timeout(self.now);
    }
}

impl Inbound {
    /// What is charged is what is held.
    pub(super) fn audit(&self) {
        let waiting = self.waiting.iter().map(|message| message.data.len() + window::MESSAGE_OVERHEAD);
        let parked = self.streams.parked_lengths().map(|length| length + window::HELD_OVERHEAD);
        let pieces = match &self.pieces {
            Pieces::Serial(pieces) => pieces.charges(),
            Pieces::Interleaved(pieces) => pieces.charges(),
        };
        let held = pieces + waiting.sum::<usize>() + parked.sum::<usize>();
        assert_eq!(held, self.memory.window.charged(), "charged for what is held");
    }

    /// Heap bytes, as counted by a model: entries of maps twice, and 16 bytes an allocation.
    pub(super) fn heap_bytes(&self) -> usize {
        let pieces = match &self.pieces {
            Pieces::Serial(pieces) => pieces.heap_bytes(),
            Pieces::Interleaved(pieces) => pieces.heap_bytes(),
        };
        let parked = self.streams.parked_lengths().map(|length| length.next_multiple_of(16) + 16 + 2 * 48);
        let queues = self.waiting.capacity() * size_of::<Message>() + self.invalid_streams.capacity() * 2;
        pieces
            + parked.sum::<usize>()
            + queues
            + self.streams.page_bytes()
            + self.received.heap_bytes()
            + self.memory.blocks.bytes()
            + self.memory.buffers.heap_bytes()
    }
}

/// An ordered DATA chunk with a whole message.
pub(super) fn chunk(tsn: Tsn, stream: u16, ssn: u16) -> Data<'static> {
    Data {
        tsn,
        stream: StreamId(stream),
        order: Order::Ssn(Ssn(ssn)),
        ppid: Ppid::BINARY,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload: b"payload",
    }
}

/// A fragment of an ordered DATA message: `flags` has a B and an E, or not.
pub(super) fn piece<'a>(tsn: Tsn, stream: u16, ssn: u16, flags: &str, text: &'a str) -> Data<'a> {
    let (begin, end, unordered) = (flags.contains('B'), flags.contains('E'), flags.contains('U'));
    Data { begin, end, unordered, payload: text.as_bytes(), ..chunk(tsn, stream, ssn) }
}

/// A fragment of an I-DATA message.
pub(super) fn interleaved<'a>(
    tsn: Tsn,
    stream: u16,
    mid: u32,
    fsn: u32,
    flags: &str,
    text: &'a str,
) -> Data<'a> {
    let whole = piece(tsn, stream, 0, flags, text);
    let ppid = if whole.begin { Ppid::BINARY } else { Ppid(0) };
    Data { order: Order::Mid(Mid(mid), Fsn(fsn)), ppid, ..whole }
}

#[test]
fn a_message_comes_out_as_it_went_in() {
    for interleaving in [false, true] {
        let mut rig = Rig::new(&Config::default(), Tsn(7), interleaving);
        let order = if interleaving { Order::Mid(Mid(0), Fsn(0)) } else { Order::Ssn(Ssn(0)) };
        let data = Data { order, ppid: Ppid::STRING, payload: b"hello", ..chunk(Tsn(7), 3, 0) };
        rig.packet(&[data]);
        assert!(rig.inbound.is_readable());
        assert_eq!(
            rig.inbound.recv(),
            Some(Message { stream: StreamId(3), ppid: Ppid::STRING, data: Bytes::from_static(b"hello") })
        );
        assert_eq!((rig.inbound.recv(), rig.inbound.cumulative_tsn()), (None, Tsn(7)));
        let stats = rig.inbound.stats();
        assert_eq!((stats.messages_received, stats.bytes_received, stats.held_bytes), (1, 5, 0));
    }
}

#[test]
fn nothing_is_taken_before_it_is_open() {
    let mut inbound = Inbound::new(&Config::default());
    let now = Instant::now();
    inbound.handle_data(now, &chunk(Tsn(0), 0, 0)).unwrap();
    inbound.end_of_packet(now);
    inbound.handle_forward_tsn(now, Tsn(5), std::iter::empty()).unwrap();
    assert!(!inbound.is_readable() && !inbound.wants_to_send() && !inbound.has_news());
    assert_eq!(inbound.window_bytes(), 256 << 10);
    assert_eq!(inbound.next_deadline(), None);
}

#[test]
fn at_rest_it_holds_nothing() {
    assert!(size_of::<Inbound>() <= 768, "{} bytes", size_of::<Inbound>());
    for interleaving in [false, true] {
        let mut rig = Rig::new(&Config::default(), Tsn(1), interleaving);
        assert_eq!(rig.inbound.heap_bytes(), 0);
        let long = "x".repeat(1000);
        let make = |tsn: u32, number: u32, fsn: u32, flags: &str| match interleaving {
            true => interleaved(Tsn(tsn), 0, number, fsn, flags, "x"),
            false => piece(Tsn(tsn), 0, number as u16, flags, "x"),
        };
        let payload = long.as_bytes();
        let chunks = [make(1, 0, 0, "B"), make(5, 2, 0, "BE"), make(4, 1, 1, "E"), make(3, 1, 0, "B")];
        rig.packet(&chunks.map(|data| Data { payload, ..data }));
        rig.packet(&[make(2, 0, 1, "E")].map(|data| Data { payload, ..data }));
        assert!(rig.inbound.heap_bytes() > 3000);
        rig.sack();
        let deadline = rig.inbound.next_deadline().unwrap();
        assert_eq!(deadline, rig.now + IDLE);
        // The application is late: unread data stays.
        rig.pass(IDLE);
        assert_eq!(rig.inbound.next_deadline(), None);
        assert!(rig.inbound.heap_bytes() > 3000);
        assert_eq!(rig.taken(), 3);
        // The numbers of the streams stay; they are all that does.
        assert!(rig.inbound.heap_bytes() <= 300, "{} bytes", rig.inbound.heap_bytes());
        rig.inbound.reset_streams(&[]);
        assert_eq!(rig.inbound.heap_bytes(), 0);
    }
}

#[test]
fn the_buffers_stay_while_data_flows() {
    let mut rig = Rig::usual();
    for ssn in 0..100 {
        rig.packet(&[chunk(rig.tsn, 0, ssn)]);
        rig.tsn = rig.tsn.next();
        rig.taken();
        rig.sack();
        rig.pass(IDLE / 10);
        assert!(rig.inbound.memory.blocks.bytes() > 0, "after {ssn}");
    }
    rig.pass(IDLE);
    assert_eq!(rig.inbound.memory.blocks.bytes(), 0);
}
