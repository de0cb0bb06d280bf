//! A model of the receiving half: slow, plain, and strict.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::{StreamId, Tsn};
use crate::wire::{Data, ForwardTsn, Header, Order, PacketWriter, Sack, Skipped};

/// A chunk that was received.
#[derive(Debug, Clone)]
struct Held {
    stream: StreamId,
    number: u32,
    fsn: Option<u32>,
    ppid: u32,
    unordered: bool,
    begin: bool,
    end: bool,
    payload: Vec<u8>,
}

/// Messages of one stream that wait for their turn.
#[derive(Debug, Default)]
struct Ordering {
    next: u32,
    waiting: BTreeMap<u32, Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct Receiver {
    first: Tsn,
    /// Chunks that have come without a gap.
    pub(super) cumulative: u64,
    /// By number since the first; those of messages not put together yet, also below the cumulative one.
    held: BTreeMap<u64, Held>,
    beyond: BTreeSet<u64>,
    duplicates: Vec<Tsn>,
    pub(super) window: u32,
    /// SSNs wrap, MIDs do not in a test.
    streams: BTreeMap<StreamId, Ordering>,
    /// By stream and whether unordered: the last message that the sender has given up.
    skipped: BTreeMap<(StreamId, bool), u32>,
    /// What was delivered: ordered and unordered messages by stream.
    pub(super) ordered: BTreeMap<u16, Vec<Vec<u8>>>,
    pub(super) unordered: BTreeMap<u16, Vec<Vec<u8>>>,
    /// Chunks with the I bit.
    pub(super) immediate: usize,
    pub(super) forwards: usize,
}

impl Receiver {
    pub(super) fn new(first: Tsn, window: u32) -> Self {
        Self {
            first,
            cumulative: 0,
            held: BTreeMap::new(),
            beyond: BTreeSet::new(),
            duplicates: Vec::new(),
            window,
            streams: BTreeMap::new(),
            skipped: BTreeMap::new(),
            ordered: BTreeMap::new(),
            unordered: BTreeMap::new(),
            immediate: 0,
            forwards: 0,
        }
    }

    pub(super) fn take(&mut self, packet: &[u8]) {
        let (_, chunks) = Header::parse(packet).unwrap();
        for chunk in chunks.map(Result::unwrap) {
            match chunk.kind {
                Data::KIND | Data::KIND_INTERLEAVED => self.take_data(&Data::parse(&chunk).unwrap()),
                ForwardTsn::KIND | ForwardTsn::KIND_INTERLEAVED => {
                    self.take_forward(&ForwardTsn::parse(&chunk).unwrap());
                }
                other => panic!("chunk type {other}"),
            }
        }
    }

    /// Drops the chunks beyond a gap whose messages are not whole, as RFC 9260 section 6.2 lets it.
    pub(super) fn renege(&mut self) {
        self.beyond.retain(|seq| self.held.remove(seq).is_none());
    }

    /// Messages that are whole but wait for one before them, and chunks of messages that are not whole.
    pub(super) fn stuck(&self) -> usize {
        self.streams.values().map(|stream| stream.waiting.len()).sum::<usize>() + self.held.len()
    }

    pub(super) fn sack(&mut self) -> Vec<u8> {
        let mut gaps: Vec<(u64, u64)> = Vec::new();
        for &seq in &self.beyond {
            let offset = seq + 1 - self.cumulative;
            match gaps.last_mut() {
                Some((_, last)) if *last + 1 == offset => *last = offset,
                _ => gaps.push((offset, offset)),
            }
        }
        let gaps: Vec<(u16, u16)> = gaps
            .into_iter()
            .take_while(|&(_, last)| last <= 65_535)
            .map(|(first, last)| (first as u16, last as u16))
            .collect();
        let cumulative = self.tsn(self.cumulative).previous();
        sack(cumulative, self.window, &gaps, &std::mem::take(&mut self.duplicates))
    }

    fn tsn(&self, seq: u64) -> Tsn {
        self.first.add(seq as u32)
    }

    fn take_data(&mut self, data: &Data<'_>) {
        self.immediate += usize::from(data.immediate);
        let offset = data.tsn.since(self.tsn(self.cumulative));
        let seq = self.cumulative.checked_add_signed(i64::from(offset)).unwrap();
        if seq < self.cumulative || self.beyond.contains(&seq) {
            self.duplicates.push(data.tsn);
            return;
        }
        let (number, fsn) = match data.order {
            Order::Ssn(ssn) => (u32::from(ssn.0), None),
            Order::Mid(mid, fsn) => (mid.0, Some(fsn.0)),
        };
        let held = Held {
            stream: data.stream,
            number,
            fsn,
            ppid: data.ppid.0,
            unordered: data.unordered,
            begin: data.begin,
            end: data.end,
            payload: data.payload.to_vec(),
        };
        self.beyond.insert(seq);
        self.advance();
        // The rest of a message that was given up.
        let skipped = self.skipped.get(&(data.stream, data.unordered));
        if fsn.is_some() && skipped.is_some_and(|&skipped| number <= skipped) {
            return;
        }
        self.held.insert(seq, held);
        self.assemble(seq);
    }

    fn take_forward(&mut self, forward: &ForwardTsn<'_>) {
        self.forwards += 1;
        let offset = forward.new_cumulative_tsn.next().since(self.tsn(self.cumulative));
        let end = self.cumulative.checked_add_signed(i64::from(offset)).unwrap();
        if end <= self.cumulative {
            return;
        }
        self.cumulative = end;
        self.beyond = self.beyond.split_off(&end);
        self.advance();
        for skipped in forward.skipped {
            let (stream, number, unordered) = match skipped {
                Skipped::Ssn(stream, ssn) => (stream, u32::from(ssn.0), false),
                Skipped::Mid(stream, mid, unordered) => (stream, mid.0, unordered),
            };
            let of_skipped =
                |held: &Held| held.stream == stream && held.unordered == unordered && held.number <= number;
            self.held.retain(|_, held| !of_skipped(held));
            self.skipped.insert((stream, unordered), number);
            if !unordered {
                let next = self.streams.entry(stream).or_default();
                let rest = next.waiting.split_off(&(number + 1));
                let skipped = std::mem::replace(&mut next.waiting, rest);
                self.ordered.entry(stream.0).or_default().extend(skipped.into_values());
                next.next = next.next.max(number + 1);
                self.deliver(stream);
            }
        }
        // FORWARD-TSN names no unordered messages: what is below the new point and not whole never will be.
        self.held.retain(|&seq, held| seq >= end || held.fsn.is_some() || !held.unordered);
    }

    fn advance(&mut self) {
        while self.beyond.remove(&self.cumulative) {
            self.cumulative += 1;
        }
    }

    /// Puts the message of a chunk together, if it is whole.
    fn assemble(&mut self, seq: u64) {
        let Some(fragments) = self.fragments(seq) else { return };
        let parts: Vec<Held> = fragments.iter().map(|seq| self.held.remove(seq).unwrap()).collect();
        let (head, last) = (parts[0].clone(), parts.len() - 1);
        for (i, part) in parts.iter().enumerate() {
            assert_eq!((part.begin, part.end), (i == 0, i == last));
            assert_eq!(
                (part.stream, part.number, part.unordered),
                (head.stream, head.number, head.unordered)
            );
            assert_eq!(part.ppid, if part.fsn.is_none_or(|fsn| fsn == 0) { head.ppid } else { 0 });
        }
        let message = parts.into_iter().flat_map(|part| part.payload).collect();
        if head.unordered {
            self.unordered.entry(head.stream.0).or_default().push(message);
            return;
        }
        let stream = self.streams.entry(head.stream).or_default();
        assert!(head.number >= stream.next, "a number that was delivered or skipped");
        assert!(stream.waiting.insert(head.number, message).is_none());
        self.deliver(head.stream);
    }

    /// The chunks of a whole message.
    fn fragments(&self, seq: u64) -> Option<Vec<u64>> {
        let held = &self.held[&seq];
        if held.fsn.is_some() {
            let same = |other: &Held| {
                (other.stream, other.number, other.unordered) == (held.stream, held.number, held.unordered)
            };
            let all: Vec<(u64, &Held)> =
                self.held.iter().filter(|(_, other)| same(other)).map(|(&seq, held)| (seq, held)).collect();
            let is_whole = all.iter().enumerate().all(|(i, (_, held))| held.fsn == Some(i as u32));
            let ends = all.last().is_some_and(|(_, held)| held.end);
            return (is_whole && ends).then(|| all.iter().map(|&(seq, _)| seq).collect());
        }
        let mut begin = seq;
        while !self.held.get(&begin)?.begin {
            begin = begin.checked_sub(1)?;
        }
        let mut end = begin;
        while !self.held.get(&end)?.end {
            end += 1;
            // A strict peer ends the association if a message begins before the one before has ended.
            assert!(!self.held.get(&end)?.begin, "fragments of one message in another");
        }
        Some((begin..=end).collect())
    }

    fn deliver(&mut self, id: StreamId) {
        let stream = self.streams.entry(id).or_default();
        while let Some(message) = stream.waiting.remove(&stream.next) {
            self.ordered.entry(id.0).or_default().push(message);
            stream.next += 1;
        }
    }
}

/// A packet with a SACK.
pub(super) fn sack(cumulative: Tsn, window: u32, gaps: &[(u16, u16)], duplicates: &[Tsn]) -> Vec<u8> {
    let mut bytes = vec![0; 60_000];
    let mut packet = PacketWriter::new(&mut bytes, super::HEADER);
    assert!(Sack::write(&mut packet, cumulative, window, gaps.iter().copied(), duplicates));
    let length = packet.finish(true);
    bytes.truncate(length);
    bytes
}

/// The DATA chunks of a packet.
pub(super) fn data(packet: &[u8]) -> Vec<Data<'_>> {
    let (_, chunks) = Header::parse(packet).unwrap();
    chunks.map(Result::unwrap).filter_map(|chunk| Data::parse(&chunk).ok()).collect()
}
