//! Runs two associations with lost, duplicated, delayed, modified and forged packets, jumps in time, messages, resets and
//! shutdown: no panic, bounded memory, and every loop ends.
#![no_main]

use std::sync::Arc;
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_sctp::wire::{Header, PacketWriter};
use netdyno_sctp::{Association, Config, Ppid, Reliability, SendOptions, State, StreamId};

/// Maximum number of packets per poll.
const PACKETS_MAX: usize = 20_000;
/// Maximum number of packets in flight in each direction.
const WIRE_MAX: usize = 64;
/// Maximum memory that the peer can make an association hold.
const HELD_MAX: usize = 200_000;

#[derive(Debug, Arbitrary)]
struct Settings {
    /// Whether the association is established before the first step.
    is_open: bool,
    interleaving: bool,
    zero_checksum: bool,
    probes: bool,
    few: bool,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Connect(bool),
    Send {
        from: bool,
        stream: u16,
        length: u16,
        unordered: bool,
        limit: u8,
    },
    Recv(bool),
    Reset {
        from: bool,
        stream: u16,
    },
    Shutdown(bool),
    Abort(bool),
    /// Advances time, in milliseconds.
    Wait(u16),
    /// Delivers all packets in flight to one side.
    Deliver(bool),
    Lose(bool),
    Double(bool),
    /// Moves the last packet in flight to the front.
    Overtake(bool),
    /// Modifies a byte of a packet in flight and corrects its checksum.
    Change {
        to: bool,
        packet: u8,
        place: u16,
        byte: u8,
    },
    /// Arbitrary bytes.
    Raw {
        to: bool,
        bytes: Vec<u8>,
    },
    /// Arbitrary chunks in a packet with the right verification tag.
    Chunks {
        to: bool,
        chunks: Vec<(u8, u8, Vec<u8>)>,
    },
}

struct World {
    now: Instant,
    ends: [Association; 2],
    /// Packets in flight to each side.
    wire: [Vec<Vec<u8>>; 2],
    /// The header of the last packet to each side.
    header: [Option<Header>; 2],
    out: Vec<u8>,
}

impl World {
    fn step(&mut self, step: Step) {
        match step {
            Step::Connect(end) => self.ends[usize::from(end)].connect(self.now),
            Step::Send { from, stream, length, unordered, limit } => {
                let reliability = match limit {
                    0..8 => Reliability::MaxRetransmits(u16::from(limit)),
                    8..16 => Reliability::MaxLifetime(Duration::from_millis(u64::from(limit) * 20)),
                    _ => Reliability::Reliable,
                };
                let options = SendOptions { unordered, reliability };
                let message = vec![limit; usize::from(length)];
                let stream = StreamId(stream % 20);
                let _ = self.ends[usize::from(from)].send(self.now, stream, Ppid::BINARY, &message, options);
            }
            Step::Recv(end) => while self.ends[usize::from(end)].recv().is_some() {},
            Step::Reset { from, stream } => {
                let _ = self.ends[usize::from(from)].reset_streams(&[StreamId(stream % 20)]);
            }
            Step::Shutdown(end) => self.ends[usize::from(end)].shutdown(self.now),
            Step::Abort(end) => self.ends[usize::from(end)].abort(self.now, "fuzzed"),
            Step::Wait(ms) => self.wait(Duration::from_millis(u64::from(ms))),
            Step::Deliver(to) => {
                for packet in std::mem::take(&mut self.wire[usize::from(to)]) {
                    self.deliver(usize::from(to), &packet);
                }
            }
            Step::Lose(to) => drop(self.wire[usize::from(to)].pop()),
            Step::Double(to) => {
                let wire = &mut self.wire[usize::from(to)];
                wire.extend(wire.last().cloned());
            }
            Step::Overtake(to) => {
                let wire = &mut self.wire[usize::from(to)];
                let last = wire.pop();
                wire.splice(0..0, last);
            }
            Step::Change { to, packet, place, byte } => {
                let wire = &mut self.wire[usize::from(to)];
                let Some(index) = usize::from(packet).checked_rem(wire.len()) else { return };
                let bytes = &mut wire[index];
                let place = usize::from(place) % bytes.len();
                bytes[place] = byte;
                let checked = sum(bytes);
                wire[index] = checked;
            }
            Step::Raw { to, bytes } => self.deliver(usize::from(to), &bytes),
            Step::Chunks { to, chunks } => {
                let Some(header) = self.header[usize::from(to)] else { return };
                let packet =
                    made(header, chunks.iter().map(|(kind, flags, value)| (*kind, *flags, &value[..])));
                self.deliver(usize::from(to), &packet);
            }
        }
        self.poll();
    }

    fn deliver(&mut self, to: usize, packet: &[u8]) {
        self.ends[to].handle_packet(self.now, packet);
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        for end in &mut self.ends {
            end.handle_timeout(self.now);
            assert!(
                end.next_deadline().is_none_or(|deadline| deadline > self.now),
                "the deadline did not advance"
            );
        }
    }

    fn poll(&mut self) {
        for from in 0..2 {
            let mut count = 0;
            while let Some(length) = self.ends[from].poll_transmit(self.now, &mut self.out) {
                count += 1;
                assert!(count < PACKETS_MAX, "too many packets");
                let packet = &self.out[..length];
                let (header, mut chunks) = Header::parse(packet).expect("a generated packet");
                assert!(chunks.next().is_some_and(|chunk| chunk.is_ok()), "a packet without a chunk");
                if header.verification_tag != 0 {
                    self.header[1 - from] = Some(header);
                }
                if self.wire[1 - from].len() < WIRE_MAX {
                    self.wire[1 - from].push(packet.to_vec());
                }
            }
            while self.ends[from].poll_event().is_some() {}
            let stats = self.ends[from].stats();
            assert!(stats.held_bytes <= HELD_MAX, "{stats:?}");
        }
    }
}

/// Returns the packet with a correct checksum.
fn sum(bytes: &[u8]) -> Vec<u8> {
    let Ok((header, chunks)) = Header::parse(bytes) else { return bytes.to_vec() };
    let chunks: Vec<_> = chunks.map_while(Result::ok).collect();
    made(header, chunks.iter().map(|chunk| (chunk.kind, chunk.flags, chunk.value)))
}

fn made<'a>(header: Header, chunks: impl Iterator<Item = (u8, u8, &'a [u8])>) -> Vec<u8> {
    let mut out = vec![0; 65_000];
    let mut packet = PacketWriter::new(&mut out, header);
    for (kind, flags, value) in chunks {
        if value.len() + 4 <= packet.room() {
            packet.chunk(kind, flags, value.len(), |place| place.copy_from_slice(value));
        }
    }
    let length = packet.finish(false);
    out.truncate(length);
    out
}

fuzz_target!(|input: (Settings, Settings, Vec<Step>)| {
    let (a, b, steps) = input;
    let now = Instant::now();
    let end = |settings: &Settings, seed| {
        let mut config = Config::default();
        config.interleaving = settings.interleaving;
        config.zero_checksum = settings.zero_checksum;
        if settings.probes {
            config.max_packet_bytes = 9000;
        }
        config.limits.receive_window_bytes = 50_000;
        config.limits.max_receive_window_bytes = 50_000;
        config.limits.max_message_bytes = 30_000;
        config.limits.send_buffer_bytes = 200_000;
        if settings.few {
            config.limits.max_streams = 10;
            config.limits.max_events = 4;
            config.limits.max_held_chunks = 16;
            config.limits.max_partial_messages = 4;
        }
        Association::new(Arc::new(config), [seed; 32], now).expect("valid settings")
    };
    let mut world = World {
        now,
        ends: [end(&a, 1), end(&b, 2)],
        wire: Default::default(),
        header: [None; 2],
        out: vec![0; 9000],
    };
    if a.is_open {
        let open = [Step::Connect(false), Step::Deliver(true), Step::Deliver(false)];
        open.into_iter().chain([Step::Deliver(true), Step::Deliver(false)]).for_each(|step| world.step(step));
        assert!(world.ends.iter().all(|end| end.state() == State::Established));
    }
    steps.into_iter().for_each(|step| world.step(step));
});
