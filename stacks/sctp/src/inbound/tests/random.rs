//! A model of a sender and of a bad path: whatever comes in whatever order, each message comes out once, in the order
//! of its stream.

use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use super::*;

const STREAMS: u16 = 4;

/// A message as it was sent.
#[derive(Debug)]
struct Sent {
    stream: u16,
    unordered: bool,
    number: u32,
    bytes: Vec<u8>,
    /// The sender may abandon it.
    is_unreliable: bool,
    is_given_up: bool,
    is_delivered: bool,
}

/// A chunk as it was sent: message, place in it, and whether it is the last.
#[derive(Debug, Clone, Copy)]
struct Piece {
    message: usize,
    fsn: u32,
    from: usize,
    to: usize,
}

/// Sender, path and receiver.
struct Model {
    random: ChaCha8Rng,
    rig: Rig,
    interleaving: bool,
    initial: Tsn,
    messages: Vec<Sent>,
    pieces: Vec<Piece>,
    /// Which pieces the receiver has taken.
    has_come: Vec<bool>,
    /// The sender's idea of how many have come in a row.
    cumulative: usize,
    /// Some were given up: what is dropped is then not always what will be sent again.
    has_given_up: bool,
}

impl Model {
    fn new(seed: u64, config: &Config, interleaving: bool, count: usize, length_max: usize) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut next = [[0; 2]; STREAMS as usize];
        let messages: Vec<Sent> = (0..count)
            .map(|index| {
                let (stream, unordered) = (random.random_range(0..STREAMS), random.random_bool(0.3));
                // Only I-DATA numbers unordered messages.
                let number = &mut next[usize::from(stream)][usize::from(unordered)];
                *number += 1;
                let length = if random.random_bool(0.5) { 5 } else { random.random_range(5..=length_max) };
                let mut bytes = vec![index as u8; length];
                bytes[..4].copy_from_slice(&(index as u32).to_be_bytes());
                Sent {
                    stream,
                    unordered,
                    number: *number - 1,
                    bytes,
                    is_unreliable: random.random_bool(0.4),
                    is_given_up: false,
                    is_delivered: false,
                }
            })
            .collect();
        let pieces = cut(&mut random, &messages, interleaving);
        let initial = Tsn(u32::MAX - random.random_range(0..2 * pieces.len() as u32));
        Self {
            rig: Rig::new(config, initial, interleaving),
            has_come: vec![false; pieces.len()],
            cumulative: 0,
            has_given_up: false,
            random,
            interleaving,
            initial,
            messages,
            pieces,
        }
    }

    fn run(&mut self, gives_up: bool) {
        let mut rounds = 0;
        while self.cumulative < self.pieces.len() {
            rounds += 1;
            assert!(rounds < 100_000, "no progress at {} of {}", self.cumulative, self.pieces.len());
            for _ in 0..self.random.random_range(1..4) {
                let index = self.pick();
                self.deliver(index);
            }
            self.rig.inbound.end_of_packet(self.rig.now);
            self.rig.now += Duration::from_millis(1);
            self.rig.inbound.audit();
            if gives_up && self.random.random_bool(0.1) {
                self.give_up();
            }
            self.count();
            if self.random.random_bool(0.3) {
                self.compare_sack();
            }
            if self.random.random_bool(0.4) {
                self.take();
            }
        }
        self.take();
        for (index, sent) in self.messages.iter().enumerate() {
            assert!(sent.is_delivered || sent.is_given_up, "message {index} is lost");
        }
        assert_eq!(self.rig.inbound.stats().held_bytes, 0);
        self.rig.pass(IDLE);
        self.rig.inbound.reset_streams(&[]);
        self.compare_sack();
        assert_eq!(self.rig.inbound.heap_bytes(), 0);
    }

    /// A piece that is sent next: usually one of the first that are missing, sometimes one that has come, and
    /// sometimes, late, one that was given up.
    fn pick(&mut self) -> usize {
        let end = (self.cumulative + 40).min(self.pieces.len());
        if self.random.random_bool(0.1) {
            return self.random.random_range(0..end);
        }
        let is_late = self.random.random_bool(0.1);
        let missing: Vec<usize> = (self.cumulative..end)
            .filter(|&index| !self.has_come[index])
            .filter(|&index| is_late || !self.messages[self.pieces[index].message].is_given_up)
            .collect();
        let at =
            if self.random.random_bool(0.3) { 0 } else { self.random.random_range(0..missing.len().max(1)) };
        missing.get(at).copied().unwrap_or(0)
    }

    fn deliver(&mut self, index: usize) {
        let Piece { message, fsn, from, to } = self.pieces[index];
        let sent = &self.messages[message];
        let order = match self.interleaving {
            true => Order::Mid(Mid(sent.number), Fsn(fsn)),
            false if sent.unordered => Order::Ssn(Ssn(7)),
            false => Order::Ssn(Ssn(sent.number as u16)),
        };
        let data = Data {
            tsn: self.initial.add(index as u32),
            stream: StreamId(sent.stream),
            order,
            ppid: Ppid(if fsn == 0 || !self.interleaving { message as u32 } else { 0 }),
            unordered: sent.unordered,
            begin: from == 0,
            end: to == sent.bytes.len(),
            immediate: self.random.random_bool(0.1),
            payload: &sent.bytes[from..to],
        };
        let before = self.rig.inbound.stats();
        self.rig.inbound.handle_data(self.rig.now, &data).unwrap();
        let after = self.rig.inbound.stats();
        assert_eq!(after.duplicate_chunks > before.duplicate_chunks, self.has_come[index], "piece {index}");
        if self.has_given_up {
            // A piece of what was given up is dropped, and counts as come.
            self.has_come[index] =
                self.rig.inbound.received.classify(data.tsn, received::SPAN) == received::Arrival::Duplicate;
        } else {
            self.has_come[index] |= after.dropped_chunks == before.dropped_chunks;
        }
    }

    /// Abandons a message that has not arrived, and sends FORWARD-TSN if that moves the cumulative TSN.
    fn give_up(&mut self) {
        self.count();
        let end = (self.cumulative + 10).min(self.pieces.len());
        if self.cumulative < end {
            let message = self.pieces[self.random.random_range(self.cumulative..end)].message;
            let is_missing = |index: &usize| self.pieces[*index].message == message && !self.has_come[*index];
            if self.messages[message].is_unreliable
                && (self.cumulative..self.pieces.len()).any(|i| is_missing(&i))
            {
                (self.messages[message].is_given_up, self.has_given_up) = (true, true);
            }
        }
        let mut to = self.cumulative;
        let mut skipped = Vec::new();
        while to < self.pieces.len() {
            let sent = &self.messages[self.pieces[to].message];
            if sent.is_given_up {
                skipped.extend(match (self.interleaving, sent.unordered) {
                    (true, unordered) => {
                        Some(Skipped::Mid(StreamId(sent.stream), Mid(sent.number), unordered))
                    }
                    (false, false) => Some(Skipped::Ssn(StreamId(sent.stream), Ssn(sent.number as u16))),
                    (false, true) => None,
                });
            } else if !self.has_come[to] {
                break;
            }
            to += 1;
        }
        if to > self.cumulative {
            self.has_come[..to].fill(true);
            let tsn = self.initial.add(to as u32).previous();
            self.rig.inbound.handle_forward_tsn(self.rig.now, tsn, skipped.into_iter()).unwrap();
            self.rig.inbound.audit();
        }
    }

    fn count(&mut self) {
        self.cumulative += self.has_come[self.cumulative..].iter().take_while(|come| **come).count();
    }

    fn compare_sack(&mut self) {
        let seen = self.rig.sack();
        assert_eq!(seen.cumulative, self.initial.add(self.cumulative as u32).previous());
        let offsets = |index: usize| (index - self.cumulative + 1) as u16;
        let rest = &self.has_come[self.cumulative..];
        let mut expected: Vec<(u16, u16)> = Vec::new();
        for offset in
            (self.cumulative..).zip(rest).filter(|(_, come)| **come).map(|(index, _)| offsets(index))
        {
            match expected.last_mut() {
                Some((_, last)) if *last + 1 == offset => *last = offset,
                _ => expected.push((offset, offset)),
            }
        }
        assert_eq!(seen.gaps, expected);
    }

    fn take(&mut self) {
        while let Some(message) = self.rig.inbound.recv() {
            let index = u32::from_be_bytes(message.data[..4].try_into().unwrap()) as usize;
            let sent = &mut self.messages[index];
            assert!(message.data == sent.bytes, "message {index} came out changed");
            assert_eq!((message.stream.0, message.ppid.0), (sent.stream, index as u32));
            assert!(!sent.is_delivered, "message {index} came twice");
            sent.is_delivered = true;
            let (stream, unordered) = (sent.stream, sent.unordered);
            let mut before = self.messages[..index].iter().filter(|m| !m.unordered && m.stream == stream);
            assert!(unordered || before.all(|m| m.is_delivered || m.is_given_up), "message {index} is early");
            let mut later = self.messages[index + 1..].iter().filter(|m| !m.unordered && m.stream == stream);
            assert!(unordered || later.all(|m| !m.is_delivered), "message {index} is late");
        }
        self.rig.inbound.audit();
    }
}

/// Cuts messages into chunks: one after another; with I-DATA up to four side by side, but not two of one stream and
/// kind.
fn cut(random: &mut ChaCha8Rng, messages: &[Sent], interleaving: bool) -> Vec<Piece> {
    let (mut pieces, mut open, mut waiting) = (Vec::new(), Vec::<Piece>::new(), 0..messages.len());
    let mut next = waiting.next();
    while next.is_some() || !open.is_empty() {
        let kind = |message: usize| (messages[message].stream, messages[message].unordered);
        let side_by_side = if interleaving { 4 } else { 1 };
        if let Some(message) = next
            && open.len() < side_by_side
            && open.iter().all(|piece| kind(piece.message) != kind(message))
        {
            open.push(Piece { message, fsn: 0, from: 0, to: 0 });
            next = waiting.next();
            continue;
        }
        let at = random.random_range(0..open.len());
        let length = messages[open[at].message].bytes.len();
        let piece = &mut open[at];
        piece.to = length.min(piece.from + random.random_range(5..200));
        pieces.push(*piece);
        (piece.from, piece.fsn) = (piece.to, piece.fsn + 1);
        if piece.from == length {
            open.remove(at);
        }
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_comes_out_once_and_in_order(seed: u64, interleaving: bool, count in 1..150usize) {
        Model::new(seed, &Config::default(), interleaving, count, 1500).run(false);
    }

    #[test]
    fn every_message_comes_through_a_narrow_window(seed: u64, interleaving: bool, count in 1..60usize) {
        let mut config = Config::default();
        config.limits.receive_window_bytes = 1500;
        config.limits.max_receive_window_bytes = 3000;
        config.limits.max_message_bytes = 3000;
        config.limits.max_held_chunks = 10;
        config.limits.max_waiting_messages = 4;
        Model::new(seed, &config, interleaving, count, 3000).run(false);
    }

    #[test]
    fn every_message_that_is_not_given_up_comes_out(seed: u64, interleaving: bool, count in 1..150usize) {
        Model::new(seed, &Config::default(), interleaving, count, 1500).run(true);
    }
}
