//! Property: over any network, each frame is delivered unchanged or reported as lost.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use common::{datagrams, now};
use netdyno_mjpeg_core::{
    Depacketizer, DepacketizerConfig, Event, Jpeg, JpegHeaders, LostReason, Packetizer, PacketizerConfig,
    QuantTable, QuantTables, Sampling,
};
use netdyno_rtp::{Packet, Sequence, Ssrc, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

/// The kind of quantisation tables.
#[derive(Debug, Clone, Copy)]
enum Tables {
    Computed(u8),
    Narrow(u8),
    Wide(u16),
}

#[derive(Debug, Clone)]
struct Picture {
    width: u16,
    height: u16,
    is_422: bool,
    tables: Tables,
    /// Whether a restart marker follows every MCU.
    restarts: bool,
    scan: Vec<u8>,
}

impl Picture {
    /// The JPEG file in the form that a receiver reconstructs.
    fn file(&self) -> Vec<u8> {
        let table = |value| QuantTable::new([value; 64]).unwrap();
        let tables = match self.tables {
            Tables::Computed(q) => QuantTables::computed(q).unwrap(),
            Tables::Narrow(value) => QuantTables { luma: table(u16::from(value)), chroma: table(3) },
            Tables::Wide(value) => QuantTables { luma: table(2), chroma: table(value) },
        };
        let sampling = if self.is_422 { Sampling::Yuv422 } else { Sampling::Yuv420 };
        let (width, height) = (self.width, self.height);
        let restart_interval = u16::from(self.restarts);
        let mut file = Vec::new();
        JpegHeaders { width, height, sampling, tables, restart_interval }.append(&mut file);
        let rows = height.div_ceil(if self.is_422 { 8 } else { 16 });
        let units = usize::from(width.div_ceil(16)) * usize::from(rows);
        let pieces = if self.restarts { units } else { 1 };
        for piece in 0..pieces {
            if piece > 0 {
                file.extend([0xff, 0xd0 + (piece - 1) as u8 % 8]);
            }
            // Each 0xFF is followed by a stuffed 0.
            let bytes =
                self.scan.iter().flat_map(|byte| if *byte == 0xff { vec![0xff, 0] } else { vec![*byte] });
            file.extend(bytes);
        }
        file.extend([0xff, 0xd9]);
        file
    }
}

fn picture() -> impl Strategy<Value = Picture> {
    let tables = prop_oneof![
        (1u8..=99).prop_map(Tables::Computed),
        (1u8..=3).prop_map(Tables::Narrow),
        (256u16..=258).prop_map(Tables::Wide),
    ];
    let sizes = prop_oneof![(1u16..100, 1u16..100), (2_041u16..2_100, 1u16..20)];
    let scan = prop_oneof![vec(any::<u8>(), 1..40), vec(any::<u8>(), 1..3_000), vec(0xfdu8..=0xff, 1..40)];
    (sizes, any::<bool>(), tables, prop::bool::weighted(0.2), scan).prop_map(
        |((width, height), is_422, tables, restarts, mut scan)| {
            if restarts {
                scan.truncate(20);
            }
            Picture { width, height, is_422, tables, restarts, scan }
        },
    )
}

/// The fate of a packet in the network.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Arrives,
    Lost,
    Twice,
    /// Overtaken by this many packets.
    Late(usize),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        20 => Just(Fate::Arrives),
        1 => Just(Fate::Lost),
        1 => Just(Fate::Twice),
        2 => (1usize..6).prop_map(Fate::Late),
    ]
}

/// Applies the fates and returns the arriving packets.
fn transfer(packets: Vec<Vec<u8>>, fates: &[Fate]) -> Vec<Vec<u8>> {
    let mut arriving: Vec<(usize, Vec<u8>)> = Vec::new();
    for (at, (packet, fate)) in packets.into_iter().zip(fates.iter().cycle()).enumerate() {
        match fate {
            Fate::Arrives => arriving.push((at, packet)),
            Fate::Lost => {}
            Fate::Twice => arriving.extend([(at, packet.clone()), (at + 2, packet)]),
            Fate::Late(by) => arriving.push((at + by, packet)),
        }
    }
    arriving.sort_by_key(|(at, _)| *at);
    arriving.into_iter().map(|(_, packet)| packet).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn frames_are_delivered_unchanged_or_reported_as_lost(
        pictures in vec(picture(), 1..8),
        max_packet_bytes in 300usize..1_500,
        first: u16,
        computed_tables: bool,
        every in 0u32..3,
        fates in vec(fate(), 1..60),
        max_wait_ms in 0u64..20,
    ) {
        let mut config = PacketizerConfig::default();
        (config.max_packet_bytes, config.computed_tables) = (max_packet_bytes, computed_tables);
        config.static_tables_every = NonZeroU32::new(every);
        let mut packetizer = Packetizer::new(config, Ssrc(7), Sequence(first)).unwrap();

        // All pictures have the dimensions in the SDP.
        let (width, height) = (pictures[0].width, pictures[0].height);
        let pictures: Vec<_> = pictures.into_iter().map(|picture| Picture { width, height, ..picture }).collect();
        let (mut packets, mut sent) = (Vec::new(), BTreeMap::new());
        for (number, picture) in pictures.iter().enumerate() {
            let file = picture.file();
            let frame = packetizer.packets(&Jpeg::parse(&file).unwrap(), Timestamp(number as u32)).unwrap();
            packets.extend(datagrams(&frame));
            sent.insert(number as u32, file);
        }
        let is_perfect = fates.iter().all(|fate| matches!(fate, Fate::Arrives));
        let arriving = transfer(packets, &fates);

        let mut config = DepacketizerConfig::default();
        config.dimensions = Some((width, height));
        config.max_wait = Duration::from_millis(max_wait_ms);
        let mut depacketizer = Depacketizer::new(config).unwrap();
        let (mut now, mut complete, mut losses, mut last) = (now(), 0, 0, None);
        for arrival in arriving.iter().map(Some).chain([None]) {
            match arrival {
                Some(packet) => depacketizer.handle_packet(now, &Packet::parse(packet).unwrap()),
                None => depacketizer.flush(),
            }
            while let Some(event) = depacketizer.poll_event(now) {
                match event {
                    Event::Frame(frame) => {
                        let number = frame.info().timestamp.0;
                        prop_assert_eq!(frame.jpeg(), &sent[&number][..]);
                        prop_assert!(last < Some(number), "frame {} after {:?}", number, last);
                        last = Some(number);
                        complete += 1;
                        depacketizer.recycle(frame);
                    }
                    Event::Lost(lost) => {
                        losses += 1;
                        let is_network_loss = matches!(
                            lost.reason,
                            LostReason::Missing | LostReason::Joined | LostReason::TablesUnknown(_)
                        );
                        prop_assert!(is_network_loss, "{:?}", lost);
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert!(depacketizer.next_deadline().is_none_or(|deadline| deadline > now));
            now += Duration::from_millis(1);
        }
        prop_assert!(depacketizer.next_deadline().is_none());
        // Losses before the first and after the last received packet are unknown.
        if complete < sent.len() && last == Some(sent.len() as u32 - 1) && starts_with_first_packet(&arriving, first) {
            prop_assert!(losses > 0);
        }
        if is_perfect {
            prop_assert_eq!((complete, losses), (sent.len(), 0));
        }
    }
}

/// Whether the first packet sent was the first to arrive, so that later losses are detected.
fn starts_with_first_packet(arriving: &[Vec<u8>], first: u16) -> bool {
    arriving.first().is_some_and(|packet| packet[2..4] == first.to_be_bytes())
}
