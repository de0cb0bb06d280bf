//! Depacketizes arbitrary packets at arbitrary times: no panic, bounded memory, and every result is a JPEG file.
#![no_main]

use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_mjpeg_core::{Depacketizer, DepacketizerConfig, Event};
use netdyno_rtp::{Header, Packet, Sequence, Ssrc, Timestamp};

#[derive(Debug, Arbitrary)]
struct Arrival {
    wait_ms: u8,
    /// Difference to the previous sequence number.
    step: i8,
    /// An occasional jump.
    leap: Option<u16>,
    frame_step: bool,
    marker: bool,
    ssrc: bool,
    offset: u16,
    kind: u8,
    q: u8,
    size: (u8, u8),
    rest: Vec<u8>,
    polls: bool,
}

const MAX_FRAME_BYTES: usize = 10_000;

fuzz_target!(|input: (Option<(u8, u8)>, u8, Vec<Arrival>)| {
    let (dimensions, max_wait_ms, arrivals) = input;
    let mut config = DepacketizerConfig::default();
    config.dimensions = dimensions.map(|(width, height)| (u16::from(width.max(1)), u16::from(height.max(1))));
    config.max_wait = Duration::from_millis(u64::from(max_wait_ms));
    config.limits.max_frame_bytes = MAX_FRAME_BYTES;
    config.limits.max_runs = 8;
    let mut depacketizer = Depacketizer::new(config).expect("valid settings");
    let (mut now, mut sequence, mut timestamp) =
        (Instant::now(), Sequence(65_500), Timestamp(u32::MAX - 9_000));
    for arrival in arrivals {
        now += Duration::from_millis(u64::from(arrival.wait_ms));
        sequence = sequence.add(arrival.leap.unwrap_or(i16::from(arrival.step) as u16));
        if arrival.frame_step {
            timestamp = timestamp.add(3_000);
        }
        let ssrc = Ssrc(u32::from(arrival.ssrc));
        let header = Header { marker: arrival.marker, payload_type: 26, sequence, timestamp, ssrc };
        let [o1, o0] = arrival.offset.to_be_bytes();
        let main = [0, 0, o1, o0, arrival.kind, arrival.q, arrival.size.0, arrival.size.1];
        let datagram = [&header.to_bytes(), &main[..], &arrival.rest].concat();
        depacketizer.handle_packet(now, &Packet::parse(&datagram).expect("a generated packet"));
        if arrival.polls {
            poll(&mut depacketizer, now);
            assert!(depacketizer.next_deadline().is_none_or(|deadline| deadline > now));
        }
    }
    depacketizer.flush();
    poll(&mut depacketizer, now);
    assert_eq!(depacketizer.next_deadline(), None);
});

fn poll(depacketizer: &mut Depacketizer, now: Instant) {
    let mut count = 0;
    while let Some(event) = depacketizer.poll_event(now) {
        count += 1;
        assert!(count < 100, "too many events");
        if let Event::Frame(frame) = event {
            let file = frame.jpeg();
            assert!(file.starts_with(&[0xff, 0xd8]) && file.ends_with(&[0xff, 0xd9]));
            assert!(frame.scan().len() <= MAX_FRAME_BYTES);
            assert!(frame.info().packets > 0);
            depacketizer.recycle(frame);
        }
    }
}
