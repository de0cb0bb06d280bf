//! Test pictures from an independent encoder, modified files, and an independent decoder.
#![allow(dead_code, unreachable_pub)]

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use netdyno_mjpeg_core::{
    Depacketizer, DepacketizerConfig, Event, FramePackets, Jpeg, Packetizer, PacketizerConfig, Sampling,
};
use netdyno_rtp::{Sequence, Ssrc, Timestamp};

pub type Encoding<'a> = Encoder<&'a mut Vec<u8>>;

/// A deterministic RGB picture with gradients, edges and noise.
pub fn rgb(width: u16, height: u16, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let mut pixels = Vec::new();
    for y in 0..u32::from(height) {
        for x in 0..u32::from(width) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            let edge = if (x / 11 + y / 7) % 2 == 0 { 60 } else { 0 };
            pixels.extend([(x * 3 + state % 16) as u8, (y * 5) as u8, (edge + state % 64) as u8]);
        }
    }
    pixels
}

/// Encodes such a picture as JPEG.
pub fn encode(width: u16, height: u16, seed: u32, set: impl FnOnce(&mut Encoding<'_>)) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 85);
    encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
    set(&mut encoder);
    encoder.encode(&rgb(width, height, seed), width, height, ColorType::Rgb).unwrap();
    file
}

/// A picture with default settings: quality 85, 4:2:0.
pub fn plain(width: u16, height: u16) -> Vec<u8> {
    encode(width, height, 1, |_| {})
}

/// Decodes a file to width, height and pixels.
pub fn pixels(file: &[u8]) -> (usize, usize, Vec<u8>) {
    let mut decoder = zune_jpeg::JpegDecoder::new(zune_jpeg::zune_core::bytestream::ZCursor::new(file));
    let pixels = decoder.decode().unwrap_or_else(|error| panic!("{error:?}"));
    let (width, height) = decoder.dimensions().unwrap();
    (width, height, pixels)
}

/// Marker, start and end of each segment up to and including the scan header.
pub fn segments(file: &[u8]) -> Vec<(u8, usize, usize)> {
    let (mut at, mut segments) = (2, Vec::<(u8, usize, usize)>::new());
    while segments.last().is_none_or(|(marker, ..)| *marker != 0xda) {
        let length = usize::from(u16::from_be_bytes([file[at + 2], file[at + 3]]));
        segments.push((file[at + 1], at, at + 2 + length));
        at += 2 + length;
    }
    segments
}

pub fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16 + 2).to_be_bytes();
    [&[0xff, marker], &length[..], body].concat()
}

/// Inserts bytes before the first segment with a marker.
pub fn insert_before(file: &[u8], marker: u8, bytes: &[u8]) -> Vec<u8> {
    let at = segments(file).into_iter().find(|(kind, ..)| *kind == marker).unwrap().1;
    [&file[..at], bytes, &file[at..]].concat()
}

/// Replaces the bodies of all segments with a marker; `None` removes a segment.
pub fn change(file: &[u8], marker: u8, mut body: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let all = segments(file);
    let mut out = file[..2].to_vec();
    for (kind, begin, end) in &all {
        if *kind != marker {
            out.extend(&file[*begin..*end]);
        } else if let Some(body) = body(&file[begin + 4..*end]) {
            out.extend(segment(marker, &body));
        }
    }
    out.extend(&file[all.last().unwrap().2..]);
    out
}

/// Removes all segments with a marker.
pub fn without(file: &[u8], marker: u8) -> Vec<u8> {
    change(file, marker, |_| None)
}

/// Changes a byte in the body of the first segment with a marker.
pub fn with_byte(file: &[u8], marker: u8, at: usize, value: u8) -> Vec<u8> {
    let mut is_first = true;
    change(file, marker, |body| {
        let mut body = body.to_vec();
        if std::mem::take(&mut is_first) {
            body[at] = value;
        }
        Some(body)
    })
}

pub fn packetizer(set: impl FnOnce(&mut PacketizerConfig)) -> Packetizer {
    let mut config = PacketizerConfig::default();
    set(&mut config);
    Packetizer::new(config, Ssrc(7), Sequence(65_533)).unwrap()
}

/// All packets of a frame.
pub fn datagrams(frame: &FramePackets<'_>) -> Vec<Vec<u8>> {
    let datagram = |index| {
        let mut datagram = Vec::new();
        assert!(frame.append(index, &mut datagram));
        datagram
    };
    (0..frame.count()).map(datagram).collect()
}

/// Sends a file without loss and returns the received file.
pub fn transmit(file: &[u8], set: impl FnOnce(&mut PacketizerConfig)) -> Vec<u8> {
    let jpeg = Jpeg::parse(file).unwrap();
    let mut packetizer = packetizer(set);
    let frame = packetizer.packets(&jpeg, Timestamp(1)).unwrap();
    let mut config = DepacketizerConfig::default();
    config.dimensions = Some((jpeg.width(), jpeg.height()));
    let mut depacketizer = Depacketizer::new(config).unwrap();
    let now = now();
    for datagram in datagrams(&frame) {
        depacketizer.handle_packet(now, &netdyno_rtp::Packet::parse(&datagram).unwrap());
    }
    let Some(Event::Frame(frame)) = depacketizer.poll_event(now) else { panic!("the frame is incomplete") };
    frame.jpeg().to_vec()
}

/// A start time.
#[allow(clippy::disallowed_methods)]
pub fn now() -> std::time::Instant {
    std::time::Instant::now()
}

pub fn factor(sampling: Sampling) -> SamplingFactor {
    match sampling {
        Sampling::Yuv422 => SamplingFactor::R_4_2_2,
        Sampling::Yuv420 => SamplingFactor::R_4_2_0,
    }
}
