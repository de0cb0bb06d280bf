//! Parses streams of datagrams: the result is independent of segmentation, datagrams do not overlap, and written ones survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_rtc_core::framing::{FRAME_BYTES_MAX, Framing};

/// Returns the datagrams of a stream with segments of this length, and whether it is rejected.
fn read(framing: Framing, bytes: &[u8], part_bytes: usize) -> (Vec<Vec<u8>>, bool) {
    let (mut held, mut found) = (Vec::new(), Vec::new());
    for part in bytes.chunks(part_bytes) {
        held.extend_from_slice(part);
        let (mut at, mut ranges) = (0, Vec::new());
        loop {
            match framing.first(&held[at..]) {
                Ok(Some(frame)) => {
                    assert!(frame.start <= frame.end && frame.end <= frame.next && frame.next > 0);
                    ranges.push(at + frame.start..at + frame.end);
                    found.push(held[at + frame.start..at + frame.end].to_vec());
                    at += frame.next;
                }
                Ok(None) => break,
                Err(_) => return (found, true),
            }
        }
        let mut together = Vec::new();
        assert_eq!(framing.datagrams(&held, usize::MAX, &mut together), Ok(at));
        assert_eq!(together, ranges);
        held.drain(..at);
        assert!(held.len() < FRAME_BYTES_MAX);
    }
    (found, false)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (part_bytes, bytes) = (usize::from(input.0) + 1, input.1);
    for framing in [Framing::Turn, Framing::Length] {
        let (found, refused) = read(framing, bytes, part_bytes);
        assert_eq!((&found, refused), (&read(framing, bytes, bytes.len().max(1)).0, refused));
        let mut written = Vec::new();
        found.iter().for_each(|datagram| framing.append(datagram, &mut written));
        assert_eq!(read(framing, &written, part_bytes), (found, false));
    }
});
