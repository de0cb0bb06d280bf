use super::*;
use crate::jpeg::Sampling;
use crate::tables::{QuantTable, QuantTables};

#[test]
fn main_header_is_encoded_as_specified() {
    let header = MainHeader {
        field: Field::Progressive,
        offset: 0x01_0203,
        kind: JpegType::new(Sampling::Yuv420, true),
        q: 80,
        dimensions: Dimensions::new(1920, 1080),
    };
    let bytes = [0, 1, 2, 3, 65, 80, 240, 135];
    assert_eq!(header.to_bytes(), bytes);
    assert_eq!(MainHeader::parse(&bytes), Ok((header, &[][..])));
    assert_eq!(header.dimensions.pixels(), Some((1920, 1080)));
    assert!(MainHeader::parse(&bytes[..7]).is_err());
    for byte in 0..=255 {
        let bytes = [byte; 8];
        assert_eq!(MainHeader::parse(&bytes).unwrap().0.to_bytes(), bytes);
    }
}

#[test]
fn dimensions_are_rounded_up_or_omitted() {
    for (width, height, pixels) in [
        (1, 1, Some((8, 8))),
        (1366, 768, Some((1368, 768))),
        (2040, 2040, Some((2040, 2040))),
        (2041, 8, None),
        (8, 2041, None),
        (3840, 2160, None),
    ] {
        assert_eq!(Dimensions::new(width, height).pixels(), pixels, "{width} x {height}");
    }
}

#[test]
fn types_map_to_sampling_and_restarts() {
    for (kind, has_restarts, sampling) in [
        (0, false, Some(Sampling::Yuv422)),
        (1, false, Some(Sampling::Yuv420)),
        (2, false, None),
        (63, false, None),
        (64, true, Some(Sampling::Yuv422)),
        (65, true, Some(Sampling::Yuv420)),
        (127, true, None),
        (128, false, None),
    ] {
        assert_eq!(
            (JpegType(kind).has_restarts(), JpegType(kind).sampling()),
            (has_restarts, sampling),
            "type {kind}"
        );
    }
}

#[test]
fn restart_header_is_encoded_as_specified() {
    let bytes = RestartHeader::unaligned(120).to_bytes();
    assert_eq!(bytes, [0, 120, 0xff, 0xff]);
    assert_eq!(RestartHeader::parse(&bytes), Ok((RestartHeader::unaligned(120), &[][..])));
    let aligned = RestartHeader { interval: 1, is_first: true, is_last: false, count: 5 };
    assert_eq!(RestartHeader::parse(&[0, 1, 0x80, 5]), Ok((aligned, &[][..])));
    assert_eq!(aligned.to_bytes(), [0, 1, 0x80, 5]);
    assert!(RestartHeader::parse(&[0, 0, 0xff, 0xff]).is_err());
    assert!(RestartHeader::parse(&bytes[..3]).is_err());
}

#[test]
fn table_headers_round_trip_and_malformed_ones_fail() {
    let (narrow, wide) = (QuantTable::new([7; 64]).unwrap(), QuantTable::new([256; 64]).unwrap());
    for (luma, chroma, precision, length) in
        [(narrow, narrow, 0, 128), (wide, narrow, 1, 192), (narrow, wide, 2, 192), (wide, wide, 3, 256)]
    {
        let tables = QuantTables { luma, chroma };
        let mut bytes = Vec::new();
        TableHeader::append(Some(&tables), &mut bytes);
        assert_eq!(bytes[..4], [0, precision, (length >> 8) as u8, length as u8]);
        let (header, rest) = TableHeader::parse(&bytes).unwrap();
        assert_eq!((header.tables(), rest.len()), (Ok(tables), 0));
    }
    let one = [&[0, 0, 0, 64][..], &[7; 64]].concat();
    let both = TableHeader::parse(&one).unwrap().0.tables();
    assert_eq!(both, Ok(QuantTables { luma: narrow, chroma: narrow }));
    for (case, bytes) in [
        ("a value of 0", [&[0, 0, 0, 64][..], &[0; 64]].concat()),
        ("half a table", [&[0, 0, 0, 32][..], &[7; 32]].concat()),
        ("one and a half", [&[0, 0, 0, 96][..], &[7; 96]].concat()),
        ("wide, but half", [&[0, 1, 0, 64][..], &[7; 64]].concat()),
        ("no table", vec![0; 4]),
    ] {
        assert!(TableHeader::parse(&bytes).unwrap().0.tables().is_err(), "{case}");
    }
    assert!(TableHeader::parse(&[0, 0, 0, 1]).is_err());
    assert!(TableHeader::parse(&[0, 0, 0]).is_err());
}

#[test]
fn payload_headers_are_parsed_in_order() {
    let tables = [&[0, 0, 0, 64][..], &[7; 64]].concat();
    for (case, main, after, data) in [
        ("computed", [0, 0, 0, 0, 1, 80, 1, 1], &b"data"[..], Some(&b"data"[..])),
        ("no data", [0, 0, 0, 0, 1, 80, 1, 1], b"", Some(b"")),
        ("with tables", [0, 0, 0, 0, 1, 255, 1, 1], &[&tables[..], b"data"].concat(), Some(b"data")),
        ("tables only at offset 0", [0, 0, 0, 1, 1, 255, 1, 1], b"data", Some(b"data")),
        ("tables are missing", [0, 0, 0, 0, 1, 255, 1, 1], b"", None),
        ("restart header", [0, 0, 0, 1, 65, 255, 1, 1], b"\0\x01\xff\xffdata", Some(b"data")),
        ("both", [0, 0, 0, 0, 64, 128, 1, 1], b"\0\x01\xff\xff\0\0\0\0data", Some(b"data")),
        ("restart header is missing", [0, 0, 0, 1, 65, 255, 1, 1], b"\0\x01", None),
    ] {
        let payload = [&main, after].concat();
        assert_eq!(Payload::parse(&payload).ok().map(|payload| payload.data), data, "{case}");
    }
}
