//! Datagrams in a byte stream: TURN over TCP and TLS (RFC 8656), and ICE over TCP (RFC 4571).
//!
//! Does not buffer incomplete frames, and inspects datagrams only to find their ends.

use std::ops::Range;

/// The STUN magic cookie and its position (RFC 8489 section 5).
const COOKIE: ([u8; 4], Range<usize>) = ([0x21, 0x12, 0xa4, 0x42], 4..8);
const STUN_HEADER_BYTES: usize = 20;
const CHANNEL_HEADER_BYTES: usize = 4;
const LENGTH_BYTES: usize = 2;

/// Longest frame: a STUN message of maximum length.
pub const FRAME_BYTES_MAX: usize = STUN_HEADER_BYTES + 65_532;

/// The framing format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// STUN messages and ChannelData, delimited by their length fields; ChannelData is followed by up to
    /// three bytes of padding (RFC 8656 sections 12.4 and 12.5).
    Turn,
    /// A 16-bit length before each datagram (RFC 4571 section 2).
    Length,
}

/// Position of a datagram, in bytes from the start of its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Start of the datagram.
    pub start: usize,
    /// End of the datagram.
    pub end: usize,
    /// Start of the next frame.
    pub next: usize,
}

impl Framing {
    /// The frame at the start of these bytes; `None` if it is incomplete. An error states what is invalid:
    /// the rest of the stream cannot be read then.
    pub fn first(self, bytes: &[u8]) -> Result<Option<Frame>, &'static str> {
        let frame = match self {
            Self::Turn => turn(bytes)?,
            Self::Length => bytes.first_chunk().map(|&length: &[u8; LENGTH_BYTES]| {
                let end = LENGTH_BYTES + usize::from(u16::from_be_bytes(length));
                Frame { start: LENGTH_BYTES, end, next: end }
            }),
        };
        Ok(frame.filter(|frame| frame.next <= bytes.len()))
    }

    /// Appends the positions of the first `max` complete datagrams in these bytes, or of all if there are
    /// fewer. Returns the total length of their frames, or why a frame is invalid.
    pub fn datagrams(
        self,
        bytes: &[u8],
        max: usize,
        found: &mut Vec<Range<usize>>,
    ) -> Result<usize, &'static str> {
        let mut at = 0;
        for _ in 0..max {
            let Some(frame) = self.first(&bytes[at..])? else { break };
            found.push(at + frame.start..at + frame.end);
            at += frame.next;
        }
        Ok(at)
    }

    /// Appends a datagram as a frame. One that is too long for a frame is dropped.
    pub fn append(self, datagram: &[u8], into: &mut Vec<u8>) {
        match self {
            Self::Turn => {
                into.extend_from_slice(datagram);
                into.resize(into.len() + self.padding(datagram.len()), 0);
            }
            Self::Length => {
                let Ok(length) = u16::try_from(datagram.len()) else { return };
                into.extend_from_slice(&length.to_be_bytes());
                into.extend_from_slice(datagram);
            }
        }
    }

    /// Padding after a datagram of this length. STUN messages are multiples of four bytes long.
    pub fn padding(self, datagram_bytes: usize) -> usize {
        match self {
            Self::Turn => datagram_bytes.next_multiple_of(4) - datagram_bytes,
            Self::Length => 0,
        }
    }
}

/// The TURN frame at the start of these bytes, complete or not. Invalid frames are refused at the first byte
/// that shows it.
fn turn(bytes: &[u8]) -> Result<Option<Frame>, &'static str> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    // The two highest bits distinguish STUN from ChannelData (RFC 8656 section 12), and only part of the
    // remaining range is valid channel numbers.
    let is_stun = match first {
        0..0x40 => true,
        0x40..0x50 => false,
        _ => return Err("neither a STUN message nor ChannelData"),
    };
    let Some(&[_, _, high, low]) = bytes.first_chunk::<CHANNEL_HEADER_BYTES>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if !is_stun {
        let end = CHANNEL_HEADER_BYTES + length;
        return Ok(Some(Frame { start: 0, end, next: end.next_multiple_of(4) }));
    }
    if length % 4 != 0 {
        return Err("a STUN message whose length is not a multiple of four (RFC 8489 section 5)");
    }
    let cookie = &bytes[COOKIE.1.start..bytes.len().min(COOKIE.1.end)];
    if !COOKIE.0.starts_with(cookie) {
        return Err("a STUN message without the magic cookie (RFC 8489 section 5)");
    }
    let end = STUN_HEADER_BYTES + length;
    Ok(Some(Frame { start: 0, end, next: end }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stun(payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u16).to_be_bytes();
        [&[0, 1][..], &length, &COOKIE.0, b"transaction!", payload].concat()
    }

    fn channel(payload: &[u8]) -> Vec<u8> {
        [&[0x40, 0x01][..], &(payload.len() as u16).to_be_bytes(), payload].concat()
    }

    /// All datagrams of a stream received in these parts, buffered as a caller would.
    fn read(framing: Framing, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, &'static str> {
        let (mut held, mut found) = (Vec::new(), Vec::new());
        for part in parts {
            held.extend_from_slice(part);
            let mut datagrams = Vec::new();
            let whole = framing.datagrams(&held, usize::MAX, &mut datagrams)?;
            assert!(datagrams.iter().all(|datagram| datagram.end <= whole));
            found.extend(datagrams.into_iter().map(|datagram| held[datagram].to_vec()));
            held.drain(..whole);
        }
        assert!(held.len() < FRAME_BYTES_MAX, "what is buffered is less than a frame");
        Ok(found)
    }

    fn datagrams() -> impl Strategy<Value = Vec<(bool, Vec<u8>)>> {
        prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)), 0..8)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_wherever_the_stream_is_cut(
            datagrams in datagrams(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            for framing in [Framing::Turn, Framing::Length] {
                let datagrams: Vec<Vec<u8>> = datagrams.iter().map(|(is_stun, payload)| match framing {
                    Framing::Turn if *is_stun => stun(&payload[..payload.len() / 4 * 4]),
                    Framing::Turn => channel(payload),
                    Framing::Length => payload.clone(),
                }).collect();
                let mut stream = Vec::new();
                datagrams.iter().for_each(|datagram| framing.append(datagram, &mut stream));
                let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
                at.extend([0, stream.len()]);
                at.sort_unstable();
                let parts: Vec<&[u8]> = at.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect();
                prop_assert_eq!(read(framing, &parts), Ok(datagrams.clone()));
                // Byte by byte too.
                let parts: Vec<&[u8]> = stream.chunks(1).collect();
                prop_assert_eq!(read(framing, &parts), Ok(datagrams));
            }
        }

        #[test]
        fn what_is_refused_is_refused_wherever_it_is_cut(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            for framing in [Framing::Turn, Framing::Length] {
                let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
                prop_assert_eq!(read(framing, &one_by_one), read(framing, &[&bytes]));
            }
        }
    }

    #[test]
    fn what_is_no_frame_is_known_by_its_first_bytes() {
        let whole = stun(b"");
        for (bytes, is_refused) in [
            (&b"HTTP/1.1 400 Bad Request"[..], false),
            (b"SSH-2.0-OpenSSH", true),
            (&[0x16, 3, 3, 0, 5], true),
            (&[0x80], true),
            (&[0x50, 0, 0, 0], true),
            (&[0x4f, 0xff, 0xff, 0xff], false),
            (&[0, 1, 0, 3], true),
            (&[0, 1, 0, 4, 0x21, 0x13], true),
            (&whole[..7], false),
        ] {
            assert_eq!(Framing::Turn.first(bytes).is_err(), is_refused, "{bytes:02x?}");
        }
        assert_eq!(Framing::Turn.first(&whole), Ok(Some(Frame { start: 0, end: 20, next: 20 })));
        assert_eq!(Framing::Turn.first(&channel(b"five!")[..]), Ok(None), "its padding is still to come");
    }

    #[test]
    fn the_longest_frames_are_whole_and_what_is_longer_is_left_out() {
        let (mut turn, mut other) = (stun(&[7; 65_532]), Vec::new());
        let whole = |framing: Framing, bytes: &[u8]| framing.datagrams(bytes, usize::MAX, &mut Vec::new());
        assert_eq!((turn.len(), whole(Framing::Turn, &turn)), (FRAME_BYTES_MAX, Ok(FRAME_BYTES_MAX)));
        turn = channel(&[7; 65_535]);
        turn.push(0);
        assert_eq!(whole(Framing::Turn, &turn), Ok(65_540));
        Framing::Length.append(&[7; 65_535], &mut other);
        Framing::Length.append(&[7; 65_536], &mut other);
        assert_eq!(whole(Framing::Length, &other), Ok(65_537));
        assert_eq!(other.len(), 65_537);
    }
}
