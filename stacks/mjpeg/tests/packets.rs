//! The packetizer: number of packets, encoded bytes, ways to send tables.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::num::NonZeroU32;

use common::{datagrams, packetizer};
use netdyno_mjpeg_core::limits::MAX_PACKET_HEADER_BYTES;
use netdyno_mjpeg_core::wire::Payload;
use netdyno_mjpeg_core::{
    ConfigError, FrameError, Jpeg, JpegHeaders, Packetizer, PacketizerConfig, QuantTable, QuantTables,
    Sampling,
};
use netdyno_rtp::{Packet, Sequence, Ssrc, Timestamp};

/// A file with arbitrary scan data of this length.
fn file(scan_bytes: usize, tables: QuantTables) -> Vec<u8> {
    let mut file = Vec::new();
    let headers =
        JpegHeaders { width: 1920, height: 1080, sampling: Sampling::Yuv420, tables, restart_interval: 0 };
    headers.append(&mut file);
    file.extend((0..scan_bytes).map(|at| (at % 251) as u8));
    file.extend([0xff, 0xd9]);
    file
}

fn computed() -> QuantTables {
    QuantTables::computed(85).unwrap()
}

/// Tables that no Q implies, different for each number.
fn custom(number: u16) -> QuantTables {
    let table = |value| QuantTable::new([value; 64]).unwrap();
    QuantTables { luma: table(number), chroma: table(number + 1) }
}

#[test]
fn number_of_packets_is_minimal() {
    // A packet of 1,400 bytes carries 1,380 bytes of data.
    for (scan_bytes, packets) in
        [(200 << 10, 149), (300 << 10, 223), (500 << 10, 372), (1, 1), (1_380, 1), (1_381, 2)]
    {
        let file = file(scan_bytes, computed());
        let frame = packetizer(|_| {}).packets(&Jpeg::parse(&file).unwrap(), Timestamp(0)).unwrap();
        assert_eq!(frame.count(), packets, "{scan_bytes} bytes");
    }
    for scan_bytes in [1, 15, 16, 17, 5_000, 70_000] {
        for max_packet_bytes in [300, 301, 576, 1_400, 1_472, 9_000, 65_507] {
            for tables in [computed(), custom(9), custom(999)] {
                let file = file(scan_bytes, tables);
                let mut packetizer = packetizer(|config| config.max_packet_bytes = max_packet_bytes);
                let frame = packetizer.packets(&Jpeg::parse(&file).unwrap(), Timestamp(0)).unwrap();
                let table_bytes = [0, 132, 260]
                    [[computed(), custom(9), custom(999)].iter().position(|t| *t == tables).unwrap()];
                let minimum = (scan_bytes + table_bytes).div_ceil(max_packet_bytes - 20);
                assert_eq!(frame.count(), minimum, "{scan_bytes} bytes in {max_packet_bytes}");
                let datagrams = datagrams(&frame);
                let (last, full) = datagrams.split_last().unwrap();
                assert!(full.iter().all(|datagram| datagram.len() == max_packet_bytes));
                assert!((21..=max_packet_bytes).contains(&last.len()));
                let total: usize = datagrams.iter().map(Vec::len).sum();
                assert_eq!((frame.wire_bytes(), frame.payload_bytes()), (total, total - 12 * frame.count()));
            }
        }
    }
}

#[test]
fn packets_are_encoded_as_specified() {
    let file = file(2_000, custom(9));
    let jpeg = Jpeg::parse(&file).unwrap();
    let mut packetizer = packetizer(|_| {});
    let frame = packetizer.packets(&jpeg, Timestamp(3_000)).unwrap();
    assert_eq!(
        (frame.count(), frame.first_sequence(), packetizer.next_sequence()),
        (2, Sequence(65_533), Sequence(65_535))
    );
    let mut headers = Vec::new();
    let data = frame.packet(0, &mut headers).unwrap();
    assert_eq!(headers[..12], [0x80, 26, 0xff, 0xfd, 0, 0, 0x0b, 0xb8, 0, 0, 0, 7]);
    assert_eq!(headers[12..20], [0, 0, 0, 0, 1, 255, 240, 135]);
    assert_eq!(headers[20..24], [0, 0, 0, 128]);
    assert_eq!((&headers[24..88], &headers[88..]), (&[9; 64][..], &[10; 64][..]));
    // The data are a slice of the file.
    assert_eq!((data.as_ptr(), data.len()), (jpeg.scan().as_ptr(), 1_400 - 152));
    headers.clear();
    let data = frame.packet(1, &mut headers).unwrap();
    assert_eq!(
        headers,
        [0x80, 0x9a, 0xff, 0xfe, 0, 0, 0x0b, 0xb8, 0, 0, 0, 7, 0, 0, 4, 0xe0, 1, 255, 240, 135]
    );
    assert_eq!(data, &jpeg.scan()[1_248..]);
    assert_eq!(frame.packet(2, &mut headers), None);
    assert_eq!(headers.len(), 20);
}

#[test]
fn maximum_headers_have_restarts_and_wide_tables() {
    let mut file = Vec::new();
    let tables = custom(999);
    JpegHeaders { width: 16, height: 8, sampling: Sampling::Yuv422, tables, restart_interval: 1 }
        .append(&mut file);
    file.extend([1, 2, 3, 0xff, 0xd9]);
    let frame = packetizer(|_| {}).packets(&Jpeg::parse(&file).unwrap(), Timestamp(0)).unwrap();
    let mut headers = Vec::new();
    assert_eq!(frame.packet(0, &mut headers), Some(&[1, 2, 3][..]));
    assert_eq!(headers.len(), MAX_PACKET_HEADER_BYTES);
    assert_eq!(headers[12..28], [0, 0, 0, 0, 64, 255, 2, 1, 0, 1, 0xff, 0xff, 0, 3, 1, 0]);
    assert!(headers[1] & 0x80 != 0);
}

/// Q and length of the tables of each frame.
fn sent_tables(
    set: impl FnOnce(&mut PacketizerConfig),
    frames: impl IntoIterator<Item = QuantTables>,
) -> Vec<(u8, Option<usize>)> {
    let mut packetizer = packetizer(set);
    let sent = frames.into_iter().map(|tables| {
        let file = file(10, tables);
        let frame = packetizer.packets(&Jpeg::parse(&file).unwrap(), Timestamp(0)).unwrap();
        let datagram = datagrams(&frame).remove(0);
        let payload = Payload::parse(Packet::parse(&datagram).unwrap().payload).unwrap();
        (payload.main.q, payload.tables.map(|header| header.data.len()))
    });
    sent.collect()
}

#[test]
fn tables_are_sent_as_configured() {
    let every = |frames| NonZeroU32::new(frames);
    let q = |q| QuantTables::computed(q).unwrap();
    assert_eq!(
        sent_tables(|_| {}, [q(85), q(1), q(99), custom(9)]),
        [(85, None), (1, None), (99, None), (255, Some(128))]
    );
    assert_eq!(sent_tables(|config| config.computed_tables = false, [q(85)]), [(255, Some(128))]);
    let once = |config: &mut PacketizerConfig| config.static_tables_every = every(3);
    assert_eq!(
        sent_tables(once, [custom(9); 5]),
        [(128, Some(128)), (128, Some(0)), (128, Some(0)), (128, Some(128)), (128, Some(0))]
    );
    assert_eq!(
        sent_tables(once, [custom(9), q(50), custom(300), custom(9), custom(300)]),
        [(128, Some(128)), (50, None), (129, Some(256)), (128, Some(0)), (129, Some(0))]
    );
    // 127 pairs have a static Q; further ones are sent with every frame.
    let many = sent_tables(once, (0..129).map(|number| custom(2 * number + 2)));
    assert_eq!(many[126..], [(254, Some(128)), (255, Some(256)), (255, Some(256))]);
}

#[test]
fn invalid_settings_and_frames_are_rejected() {
    let with = |set: fn(&mut PacketizerConfig)| {
        let mut config = PacketizerConfig::default();
        set(&mut config);
        Packetizer::new(config, Ssrc(0), Sequence(0)).err()
    };
    assert_eq!(with(|config| config.max_packet_bytes = 299), Some(ConfigError::PacketBytes(299)));
    assert_eq!(with(|config| config.max_packet_bytes = 65_508), Some(ConfigError::PacketBytes(65_508)));
    assert_eq!(with(|config| config.payload_type = 128), Some(ConfigError::PayloadType(128)));

    for (scan_bytes, max_packet_bytes, error) in [
        ((1 << 24) + 1, 1_400, Some(FrameError::TooLong((1 << 24) + 1))),
        (1 << 24, 1_400, None),
        (1 << 24, 300, Some(FrameError::TooManyPackets(59_920))),
    ] {
        let file = file(scan_bytes, computed());
        let mut packetizer = packetizer(|config| config.max_packet_bytes = max_packet_bytes);
        let frame = packetizer.packets(&Jpeg::parse(&file).unwrap(), Timestamp(0));
        assert_eq!(frame.err(), error);
        // A rejected frame uses no sequence numbers.
        assert_eq!(packetizer.next_sequence() == Sequence(65_533), error.is_some());
    }
}
