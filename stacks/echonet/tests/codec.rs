//! Frames and property maps: valid ones, invalid ones, round trips.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{hex, to_hex};
use netdyno_echonet_core::{
    Eoj, Epc, Esv, Frame, FrameError, FrameWriter, Header, PropertyMap, PropertyMapError, Tid, WriteError,
};
use proptest::prelude::*;

#[test]
fn invalid_frames_are_rejected() {
    let rows = [
        ("", FrameError::Truncated("header")),
        ("10", FrameError::Truncated("header")),
        ("1081", FrameError::Truncated("header")),
        ("1081 0001 05FF01 0EF001 62", FrameError::Truncated("header")),
        ("2081 0001 05FF01 0EF001 62 00", FrameError::Protocol(0x20)),
        ("1082 0001 0203", FrameError::ArbitraryFormat),
        ("1080 0001 05FF01 0EF001 62 00", FrameError::Format(0x80)),
        ("1081 0001 05FF01 0EF001 75 00", FrameError::UnknownEsv(0x75)),
        ("1081 0001 05FF01 0EF001 00 00", FrameError::UnknownEsv(0x00)),
        ("1081 0001 05FF01 0EF001 62 01", FrameError::Truncated("list of properties")),
        ("1081 0001 05FF01 0EF001 62 01 80", FrameError::Truncated("list of properties")),
        ("1081 0001 05FF01 0EF001 62 02 8000", FrameError::Truncated("list of properties")),
        ("1081 0001 05FF01 0EF001 61 01 8001", FrameError::Truncated("property's value")),
        ("1081 0001 05FF01 0EF001 61 01 80FF30", FrameError::Truncated("property's value")),
        ("1081 0001 05FF01 0EF001 6E 00", FrameError::Truncated("second list")),
        ("1081 0001 05FF01 0EF001 6E 01 800130", FrameError::Truncated("second list")),
        ("1081 0001 05FF01 0EF001 5E 00 01", FrameError::Truncated("list of properties")),
    ];
    for (bytes, expected) in rows {
        assert_eq!(Frame::parse(&hex(bytes)), Err(expected), "{bytes}");
    }
}

#[test]
fn valid_frames_are_parsed() {
    let bytes = hex("1081 ABCD 029101 05FF01 5E 02 8000 B00201FF 01 B3020102 EEEEEE");
    let frame = Frame::parse(&bytes).unwrap();
    assert_eq!((frame.tid, frame.seoj, frame.deoj), (Tid(0xABCD), Eoj([2, 0x91, 1]), Eoj::CONTROLLER));
    assert_eq!((frame.esv, frame.trailing_bytes), (Esv::SetGetSna, 3));
    let list = |properties: netdyno_echonet_core::Properties<'_>| {
        properties
            .iter()
            .map(|property| format!("{}={}", property.epc, to_hex(property.edt)))
            .collect::<Vec<_>>()
    };
    assert_eq!(list(frame.properties), ["80=", "B0=01FF"]);
    assert_eq!(list(frame.get), ["B3=0102"]);
    assert_eq!((frame.properties.len(), frame.get.iter().len()), (2, 1));
    assert_eq!(frame.properties.find(Epc(0xB0)).map(|property| property.edt), Some(&[1, 0xFF][..]));
    assert_eq!(frame.properties.find(Epc(0xB1)), None);
    let none = hex("1081 0000 05FF01 0EF001 62 00");
    assert!(Frame::parse(&none).unwrap().properties.is_empty());
}

#[test]
fn write_errors() {
    let header = Header { tid: Tid(1), seoj: Eoj::CONTROLLER, deoj: Eoj::NODE_PROFILE, esv: Esv::Get };
    let needs_12 = |room| WriteError::NoRoom { room, needed: 12 };
    assert_eq!(FrameWriter::new(&mut [0; 11], header).err(), Some(needs_12(11)));
    let mut buffer = [0; 12 + 2 * 256];
    let mut writer = FrameWriter::new(&mut buffer, header).unwrap();
    assert_eq!(writer.get_list(), Err(WriteError::NoSecondList));
    assert_eq!(writer.property(Epc(0x80), &[0; 256]), Err(WriteError::ValueTooLong { bytes: 256 }));
    for _ in 0..255 {
        writer.property(Epc(0x80), &[]).unwrap();
    }
    assert_eq!(writer.property(Epc(0x80), &[]), Err(WriteError::TooManyProperties));
    assert_eq!((writer.count(), writer.finish()), (255, Ok(12 + 2 * 255)));
    let mut writer = FrameWriter::new(&mut buffer[..15], header).unwrap();
    assert_eq!(writer.property(Epc(0x80), &[1, 2]), Err(WriteError::NoRoom { room: 3, needed: 4 }));
    assert_eq!(writer.property(Epc(0x80), &[1]), Ok(()));
    let set_get = Header { esv: Esv::SetGet, ..header };
    assert_eq!(
        FrameWriter::new(&mut buffer[..12], set_get).unwrap().finish(),
        Err(WriteError::NoRoom { room: 0, needed: 1 })
    );
    let mut writer = FrameWriter::new(&mut buffer, set_get).unwrap();
    assert_eq!(writer.get_list(), Ok(()));
    assert_eq!(writer.get_list(), Err(WriteError::NoSecondList));
}

fn codes(text: &str) -> PropertyMap {
    hex(text).into_iter().map(Epc).collect()
}

#[test]
fn valid_maps_are_decoded() {
    let rows = [
        ("00", ""),
        ("01 80", "80"),
        ("0B 80 82 83 8A 9D 9E 9F D3 D4 D6 D7", "80 82 83 8A 9D 9E 9F D3 D4 D6 D7"),
        ("0F 80 81 82 83 84 85 86 87 88 89 8A 8B 8C 8D FF", "80818283848586878889 8A8B8C8D FF"),
        // 16: the bitmap, one bit of each row and the ends.
        ("10 FF 01 01 01 01 01 01 01 01 0000000000000000", "80 90 A0 B0 C0 D0 E0 F0 8182838485868788"),
        ("10 01010101010101010101010101010101", "80 81 82 83 84 85 86 87 88 89 8A 8B 8C 8D 8E 8F"),
        ("10 80808080808080808080808080808080", "F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 FA FB FC FD FE FF"),
        // Bytes after the end; a code twice.
        ("01 80 FF FF", "80"),
        ("02 80 80", "80"),
        // The bits take precedence over the count.
        ("20 01000000000000000000000000000080", "80 FF"),
        // A bitmap in place of a list.
        ("03 01010100000000000000000000000000", "80 81 82"),
    ];
    for (bytes, expected) in rows {
        assert_eq!(PropertyMap::decode(&hex(bytes)), Ok(codes(expected)), "{bytes}");
    }
}

#[test]
fn invalid_maps_are_rejected() {
    let length = |properties, expected, bytes| PropertyMapError::Length { properties, expected, bytes };
    let rows = [
        ("01", length(1, 2, 1)),
        ("0F 80", length(15, 16, 2)),
        ("10 80", length(16, 17, 2)),
        ("", length(0, 1, 0)),
        ("FF 000000000000000000000000000000", length(255, 17, 16)),
        ("02 80 7F", PropertyMapError::Code(Epc(0x7F))),
        ("04 01010100000000000000000000000000", PropertyMapError::Code(Epc(0x01))),
    ];
    for (bytes, expected) in rows {
        assert_eq!(PropertyMap::decode(&hex(bytes)), Err(expected), "{bytes}");
    }
}

/// The map of an air conditioner: half of its properties are above 0xC0, where some decoders fail.
#[test]
fn a_real_map() {
    let bytes = hex("40A595D5A7C4C4C5869795A7E471339392");
    let map = PropertyMap::decode(&bytes).unwrap();
    assert_eq!(map.len(), 0x40);
    assert!([0x80, 0xA0, 0xD0, 0xF0, 0xFF].iter().all(|code| map.contains(Epc(*code))));
    assert!(map.iter().filter(|epc| epc.0 >= 0xC0).count() > 16);
    assert_eq!(map.encode().as_bytes(), bytes);
}

fn any_epc() -> impl Strategy<Value = Epc> {
    (0x80..=0xFF_u8).prop_map(Epc)
}

proptest! {
    #[test]
    fn any_map_is_read_as_it_was_written(codes in prop::collection::btree_set(any_epc(), 0..=128)) {
        let map: PropertyMap = codes.iter().copied().collect();
        prop_assert_eq!(map.iter().collect::<Vec<_>>(), codes.iter().copied().collect::<Vec<_>>());
        let encoded = map.encode();
        prop_assert_eq!(encoded.as_bytes().len(), if codes.len() < 16 { 1 + codes.len() } else { 17 });
        prop_assert_eq!(PropertyMap::decode(encoded.as_bytes()), Ok(map));
    }

    #[test]
    fn any_frame_is_read_as_it_was_written(
        tid: u16,
        eojs: [[u8; 3]; 2],
        esv in prop::sample::select(Esv::ALL.to_vec()),
        first in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..12),
        second in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..12),
        trailing in 0..9_usize,
    ) {
        let mut buffer = vec![0xAA; 2048];
        let header = Header { tid: Tid(tid), seoj: Eoj(eojs[0]), deoj: Eoj(eojs[1]), esv };
        let mut writer = FrameWriter::new(&mut buffer, header).unwrap();
        for (code, value) in &first {
            writer.property(Epc(*code), value).unwrap();
        }
        if esv.has_get_list() {
            writer.get_list().unwrap();
            for (code, value) in &second {
                writer.property(Epc(*code), value).unwrap();
            }
        }
        let bytes = writer.finish().unwrap();
        let frame = Frame::parse(&buffer[..bytes + trailing]).unwrap();
        prop_assert_eq!((frame.tid, frame.seoj, frame.deoj, frame.esv), (header.tid, header.seoj, header.deoj, esv));
        prop_assert_eq!(frame.trailing_bytes, trailing);
        let list = |properties: netdyno_echonet_core::Properties<'_>| -> Vec<(u8, Vec<u8>)> {
            properties.iter().map(|property| (property.epc.0, property.edt.to_vec())).collect()
        };
        prop_assert_eq!(list(frame.properties), first);
        prop_assert_eq!(list(frame.get), if esv.has_get_list() { second } else { Vec::new() });
        // A truncated frame is invalid.
        for end in 0..bytes {
            prop_assert!(Frame::parse(&buffer[..end]).is_err());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut bytes = bytes;
        let _ = Frame::parse(&bytes);
        let _ = PropertyMap::decode(&bytes);
        if bytes.len() > 1 {
            (bytes[0], bytes[1]) = (0x10, 0x81);
            let _ = Frame::parse(&bytes);
        }
    }
}
