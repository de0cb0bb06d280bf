//! The sending half against a model of the receiving one.

mod abandoning;
mod memory;
mod model;
mod receiver;
mod recovery;
mod sacks;
mod scheduling;
mod sending;
mod speed;

use super::*;
use crate::config::Congestion;
use crate::types::{Ssn, StreamId};
use crate::wire::{Header, PacketWriter, Sack};

use receiver::Receiver;

const FIRST_TSN: Tsn = Tsn(1000);
const HEADER: Header = Header { source_port: 5000, destination_port: 5000, verification_tag: 7 };
const BIG_WINDOW: u32 = 10 << 20;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A sending half with a clock, and a receiver that only receives what a test passes on.
struct Rig {
    out: Outbound,
    now: Instant,
    receiver: Receiver,
}

impl Rig {
    fn with(config: &Config, initial_tsn: Tsn, peer: Peer) -> Self {
        let mut out = Outbound::new(config, initial_tsn);
        out.open(peer);
        Self { out, now: Instant::now(), receiver: Receiver::new(initial_tsn, BIG_WINDOW) }
    }

    fn new() -> Self {
        Self::with(&Config::default(), FIRST_TSN, peer())
    }

    /// With NewReno, whose windows are easier to foretell, and as many packets as the test needs.
    fn wide() -> Self {
        let mut rig = Self::with(&newreno(), FIRST_TSN, peer());
        rig.widen(1 << 20);
        rig
    }

    /// The congestion window grows by so much, as in slow start.
    fn widen(&mut self, bytes: usize) {
        let now = Time::START.after(ms(1));
        self.out.congestion.on_ack(&congestion::Ack {
            now,
            bytes,
            delivered: bytes,
            lost: 0,
            in_flight: 0,
            told_short: false,
            sent_at: now,
            rtt: None,
            smoothed_rtt: ms(10),
            limited: true,
            acked_end: 0,
            next: 0,
        });
    }

    fn send(&mut self, stream: u16, bytes: &[u8]) {
        self.send_with(stream, bytes, SendOptions::default());
    }

    fn send_with(&mut self, stream: u16, bytes: &[u8], options: SendOptions) {
        self.out.send(self.now, StreamId(stream), Ppid::BINARY, bytes, options).unwrap();
    }

    /// The next packet; first queries whether there is one, and compares the result.
    fn packet(&mut self) -> Option<Vec<u8>> {
        let wants = self.out.wants_to_send(self.now);
        let mut bytes = vec![0; self.out.packet_bytes];
        let mut packet = PacketWriter::new(&mut bytes, HEADER);
        let wrote = self.out.write(self.now, &mut packet);
        assert_eq!(wants, wrote, "wants_to_send and write disagree");
        assert_eq!(wrote, !packet.is_empty());
        self.check();
        let length = packet.finish(true);
        bytes.truncate(length);
        wrote.then_some(bytes)
    }

    /// All that may be sent now.
    fn packets(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.packet()).collect()
    }

    /// Everything that may be sent now arrives. Gives how many packets.
    fn deliver(&mut self) -> usize {
        let packets = self.packets();
        packets.iter().for_each(|packet| self.receiver.take(packet));
        packets.len()
    }

    /// The receiver's SACK arrives.
    fn answer(&mut self) {
        let packet = self.receiver.sack();
        self.sack_packet(&packet).unwrap();
    }

    fn sack_packet(&mut self, packet: &[u8]) -> Result<(), crate::ProtocolViolation> {
        let (_, mut chunks) = Header::parse(packet).unwrap();
        let sack = Sack::parse(&chunks.next().unwrap().unwrap()).unwrap();
        let result = self.out.handle_sack(self.now, &sack);
        if result.is_ok() {
            self.check();
        }
        result
    }

    /// A SACK made by hand: so many chunks since the beginning, and gap blocks.
    fn sack(
        &mut self,
        chunks: u32,
        gaps: &[(u16, u16)],
        window: u32,
    ) -> Result<(), crate::ProtocolViolation> {
        let first = self.out.flight.tsn(0);
        let packet = receiver::sack(first.add(chunks).previous(), window, gaps, &[]);
        self.sack_packet(&packet)
    }

    fn wait(&mut self, duration: Duration) {
        self.now += duration;
        self.out.handle_timeout(self.now);
        self.check();
    }

    /// Waits for the next deadline. Gives for how long.
    fn sleep(&mut self) -> Option<Duration> {
        let duration = self.out.next_deadline()?.saturating_duration_since(self.now);
        self.wait(duration);
        Some(duration)
    }

    /// Until everything has arrived.
    fn drain(&mut self) {
        for _ in 0..100_000 {
            self.deliver();
            self.answer();
            if self.out.is_drained() {
                return;
            }
            if !self.out.wants_to_send(self.now) {
                self.sleep().expect("a deadline, as long as something is in flight");
            }
        }
        panic!("does not drain");
    }

    /// Holds every sum against what it sums up.
    fn check(&self) {
        let (out, flight) = (&self.out, &self.out.flight);
        let (mut bytes, mut payload, mut gap, mut held, mut stored, mut outstanding) = (0, 0, 0, 0, 0, 0);
        for seq in flight.base()..flight.next() {
            let chunk = flight.chunk(seq);
            let length = flight.payload_length(seq);
            let wire = flight.wire_bytes(length);
            stored += length;
            if chunk.has(chunk::ABANDONED) {
                assert!(flight.is_settled(seq) && length == 0);
                continue;
            }
            held += length + if chunk.has(chunk::END) { MESSAGE_BYTES } else { 0 };
            if flight.is_settled(seq) {
                gap += wire;
            } else if flight.is_outstanding(seq) {
                bytes += wire;
                payload += length;
                outstanding += 1;
            }
        }
        let begun = out.streams.iter().filter(|stream| stream.begun.is_some()).count();
        assert!(begun == usize::from(out.begun) && out.begun <= out.settings.max_partial_messages);
        let (mut unsent, mut unsent_bytes, mut live) = (0, 0, false);
        for stream in out.streams.iter() {
            let queued: usize = stream.queue.iter().sum();
            assert_eq!(queued, stream.buffered);
            stored += queued;
            unsent_bytes += queued;
            held += queued + stream.queue.len() * MESSAGE_BYTES;
            unsent += stream.queue.iter().filter(|&left| left > 0).count();
            assert!(stream.queue.front_bytes() != Some(0));
            assert!(stream.queue.is_empty() || stream.scheduled);
            live |= !stream.queue.is_empty();
        }
        assert_eq!(out.scheduler.current().is_some(), live);
        assert_eq!(
            (bytes, payload, gap, outstanding),
            (flight.bytes(), flight.payload_bytes(), flight.gap_bytes(), flight.outstanding())
        );
        let middle = flight.base().midpoint(flight.next());
        let halves = [(0, middle), (middle, u64::MAX)].map(|(from, to)| flight.outstanding_between(from, to));
        assert_eq!(halves[0] + halves[1], outstanding);
        assert!(out.in_flight_bytes() <= bytes);
        assert_eq!((held, unsent, unsent_bytes), (out.held, out.unsent, out.unsent_bytes));
        assert_eq!(stored, out.store.live_bytes());
        if out.peer.is_some() && !out.is_drained() {
            let waits = out.next_deadline().is_some() || out.wants_to_send(self.now);
            assert!(waits, "something is unfinished, and nothing is waited for");
        }
    }
}

fn peer() -> Peer {
    Peer { window_bytes: BIG_WINDOW, streams: 65_535, interleaving: false, forward_tsn: true }
}

fn interleaving() -> Peer {
    Peer { interleaving: true, ..peer() }
}

fn newreno() -> Config {
    Config { congestion: Congestion::NewReno, ..Config::default() }
}

fn retransmits(max: u16) -> SendOptions {
    SendOptions { reliability: Reliability::MaxRetransmits(max), ..SendOptions::default() }
}

fn lifetime(lifetime: Duration) -> SendOptions {
    SendOptions { reliability: Reliability::MaxLifetime(lifetime), ..SendOptions::default() }
}

/// Chunks of a packet, as (TSN after the first, stream, SSN or MID, payload length).
fn data_of(packet: &[u8]) -> Vec<(u32, u16, u32, usize)> {
    receiver::data(packet)
        .iter()
        .map(|data| {
            let number = match data.order {
                crate::wire::Order::Ssn(Ssn(number)) => u32::from(number),
                crate::wire::Order::Mid(mid, _) => mid.0,
            };
            (data.tsn.since(FIRST_TSN) as u32, data.stream.0, number, data.payload.len())
        })
        .collect()
}
