//! JPEG files of many kinds: supported ones are carried with identical pixels, others are rejected with the cause.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{change, encode, insert_before, pixels, plain, segment, segments, transmit, with_byte, without};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use netdyno_mjpeg_core::{Jpeg, JpegError, JpegHeaders, QuantTable, QuantTables, Sampling, Unsupported};

const SOF: u8 = 0xc0;
const DHT: u8 = 0xc4;
const SOS: u8 = 0xda;
const DQT: u8 = 0xdb;
const APP0: u8 = 0xe0;

/// Merges all segments with a marker into one.
fn joined(file: &[u8], marker: u8) -> Vec<u8> {
    let all = segments(file).into_iter().filter(|(kind, ..)| *kind == marker);
    let bodies: Vec<u8> = all.flat_map(|(_, begin, end)| file[begin + 4..end].to_vec()).collect();
    insert_before(&without(file, marker), SOF, &segment(marker, &bodies))
}

/// Encodes the tables with 16 bits per value.
fn widened(file: &[u8]) -> Vec<u8> {
    change(file, DQT, |body| {
        let wide = |table: &[u8]| {
            let values = table[1..].iter().flat_map(|value| [0, *value]);
            std::iter::once(table[0] | 0x10).chain(values).collect::<Vec<_>>()
        };
        Some(body.chunks(65).flat_map(wide).collect())
    })
}

/// Gives Cr its own table with identifier 2, which differs from Cb's in one value.
fn third_table(file: &[u8], change_by: u8) -> Vec<u8> {
    let file = with_byte(file, SOF, 14, 2);
    let mut table = Vec::new();
    change(&joined(&file, DQT), DQT, |body| {
        table = body[65..130].to_vec();
        Some(body.to_vec())
    });
    table[0] = 2;
    table[64] += change_by;
    insert_before(&file, SOF, &segment(DQT, &table))
}

/// Changes the table identifiers 0 and 1 to 3 and 2.
fn renumbered(file: &[u8]) -> Vec<u8> {
    let other = |number: u8| number & 0xf0 | (3 - (number & 0x0f));
    let file = joined(&joined(file, DQT), DHT);
    let file = change(&file, DQT, |body| {
        Some(body.chunks(65).flat_map(|table| [&[other(table[0])], &table[1..]].concat()).collect())
    });
    let file = change(&file, DHT, |mut body| {
        let mut out = Vec::new();
        while !body.is_empty() {
            let length = 17 + body[1..17].iter().map(|count| usize::from(*count)).sum::<usize>();
            out.push(other(body[0]));
            out.extend(&body[1..length]);
            body = &body[length..];
        }
        Some(out)
    });
    let file = [(8, 3), (11, 2), (14, 2)].iter().fold(file, |file, (at, to)| with_byte(&file, SOF, *at, *to));
    [(2, 0x33), (4, 0x22), (6, 0x22)].iter().fold(file, |file, (at, to)| with_byte(&file, SOS, *at, *to))
}

fn with_restarts(interval: u16) -> Vec<u8> {
    encode(100, 50, 1, |encoder| encoder.set_restart_interval(interval))
}

#[test]
fn supported_files_are_carried_with_identical_pixels() {
    let file = plain(64, 48);
    let exif = segment(0xe1, &[&b"Exif\0\0"[..], &plain(16, 16)].concat());
    let adobe = |transform| segment(0xee, &[&b"Adobe"[..], &[0, 100, 0, 0, 0, 0, transform]].concat());
    let huge = segment(0xfe, &[0xff; 65_533]);
    let eoi = file.len() - 2;
    for (case, file) in [
        ("default", file.clone()),
        ("4:2:2", encode(64, 48, 1, |encoder| encoder.set_sampling_factor(SamplingFactor::R_4_2_2))),
        ("restarts", with_restarts(1)),
        ("restarts at the end of rows", with_restarts(7)),
        ("restart interval longer than the scan", with_restarts(60_000)),
        ("odd size", plain(33, 17)),
        ("one pixel", plain(1, 1)),
        ("quality 1", encode(64, 48, 1, |encoder| encoder.set_quality(1))),
        ("quality 100", encode(64, 48, 1, |encoder| encoder.set_quality(100))),
        ("above 2,040", plain(2_048, 16)),
        ("EXIF with a thumbnail", insert_before(&file, DQT, &exif)),
        ("Adobe's segment, YCbCr", insert_before(&without(&file, APP0), DQT, &adobe(1))),
        ("JFIF and Adobe, YCbCr", insert_before(&file, DQT, &adobe(1))),
        (
            "comments",
            insert_before(&file, DQT, &[segment(0xfe, b"hello"), segment(0xfe, b""), huge].concat()),
        ),
        ("fill bytes before a marker", insert_before(&file, DQT, &[0xff; 9])),
        ("without JFIF", without(&file, APP0)),
        ("two tables in one DQT", joined(&file, DQT)),
        ("four tables in one DHT", joined(&file, DHT)),
        ("three tables, two equal", third_table(&file, 0)),
        ("tables of 16 bits", widened(&file)),
        ("other table identifiers", renumbered(&file)),
        ("a table defined twice", insert_before(&file, DQT, &segment(DQT, &[&[0][..], &[9; 64]].concat()))),
        ("SOF1", {
            let mut other = file.clone();
            other[segments(&file).iter().find(|(kind, ..)| *kind == SOF).unwrap().1 + 1] = 0xc1;
            other
        }),
        ("without EOI", file[..eoi].to_vec()),
        ("half an EOI", file[..eoi + 1].to_vec()),
        ("fill bytes before EOI", [&file[..eoi], &[0xff; 5], &file[eoi..]].concat()),
        ("padding after EOI", [&file[..], &[0; 4096]].concat()),
        ("another picture after EOI", [&file[..], &file].concat()),
        ("a comment after the scan", [&file[..eoi], &segment(0xfe, b"x"), &file[eoi..]].concat()),
    ] {
        let before = pixels(&file);
        for max_packet_bytes in [300, 1_400] {
            let after = transmit(&file, |config| config.max_packet_bytes = max_packet_bytes);
            assert!(pixels(&after) == before, "{case}: the pixels differ");
            let (sent, received) = (Jpeg::parse(&file).unwrap(), Jpeg::parse(&after).unwrap());
            assert_eq!(sent, received, "{case}");
        }
    }
}

/// AVI files and many cameras omit the tables. After transmission, any decoder can decode the picture.
#[test]
fn missing_huffman_tables_are_the_typical_ones() {
    let file = plain(64, 48);
    assert!(pixels(&transmit(&without(&file, DHT), |_| {})) == pixels(&file));
}

#[test]
fn tables_with_16_bit_values_are_carried() {
    let file = plain(64, 48);
    let jpeg = Jpeg::parse(&file).unwrap();
    let mut values = *jpeg.tables().luma.values();
    values[63] = 999;
    let tables = QuantTables { luma: QuantTable::new(values).unwrap(), ..*jpeg.tables() };
    let mut file = Vec::new();
    JpegHeaders { tables, ..JpegHeaders::from(&jpeg) }.append(&mut file);
    file.extend(jpeg.scan());
    file.extend([0xff, 0xd9]);
    assert_eq!(transmit(&file, |_| {}), file);
    assert_eq!(Jpeg::parse(&file).unwrap().tables(), &tables);
}

#[test]
fn unsupported_files_are_rejected_with_cause_and_remedy() {
    let file = plain(64, 48);
    let sampled = |factor| encode(64, 48, 1, |encoder| encoder.set_sampling_factor(factor));
    let factors = |horizontal, vertical| Unsupported::Sampling([(horizontal, vertical), (1, 1), (1, 1)]);
    let colours = |kind: ColorType, bytes: usize| {
        let mut file = Vec::new();
        let encoder = Encoder::new(&mut file, 85);
        encoder.encode(&vec![77; bytes], 16, 16, kind).unwrap();
        file
    };
    let with_marker = |marker| {
        let mut other = file.clone();
        other[segments(&file).iter().find(|(kind, ..)| *kind == SOF).unwrap().1 + 1] = marker;
        other
    };
    let adobe = segment(0xee, b"Adobe\0\x64\0\0\0\0\0");
    let rgb_ids = [(6, b'R'), (9, b'G'), (12, b'B')];
    let rgb_ids = rgb_ids.iter().fold(without(&file, APP0), |file, (at, id)| with_byte(&file, SOF, *at, *id));
    let eoi = file.len() - 2;
    let after_scan = |bytes: &[u8]| [&file[..eoi], bytes].concat();
    for (case, file, reason) in [
        ("progressive", encode(64, 48, 1, |encoder| encoder.set_progressive(true)), Unsupported::Progressive),
        // The encoder then writes one scan per component.
        ("optimised", encode(64, 48, 1, |e| e.set_optimized_huffman_tables(true)), Unsupported::SeveralScans),
        ("custom Huffman table", with_byte(&file, DHT, 28, 200), Unsupported::Huffman),
        ("4:4:4", sampled(SamplingFactor::R_4_4_4), factors(1, 1)),
        ("4:4:0", sampled(SamplingFactor::R_4_4_0), factors(1, 2)),
        ("4:1:1", sampled(SamplingFactor::R_4_1_1), factors(4, 1)),
        (
            "4:2:2 as FFmpeg writes it",
            [(7, 0x22), (10, 0x12), (13, 0x12)]
                .iter()
                .fold(file.clone(), |file, (at, to)| with_byte(&file, SOF, *at, *to)),
            Unsupported::Sampling([(2, 2), (1, 2), (1, 2)]),
        ),
        ("greyscale", colours(ColorType::Luma, 256), Unsupported::Greyscale),
        ("CMYK", colours(ColorType::Cmyk, 1024), Unsupported::Components(4)),
        ("RGB by Adobe", insert_before(&without(&file, APP0), DQT, &adobe), Unsupported::Rgb),
        ("RGB by Adobe, with JFIF", insert_before(&file, DQT, &adobe), Unsupported::Rgb),
        ("RGB by component identifiers", rgb_ids, Unsupported::Rgb),
        ("12 bits", with_byte(&file, SOF, 0, 12), Unsupported::Precision(12)),
        ("height 0", with_byte(&with_byte(&file, SOF, 1, 0), SOF, 2, 0), Unsupported::Dnl),
        ("three tables", third_table(&file, 1), Unsupported::ThreeTables),
        ("luma's Huffman table for chroma", with_byte(&file, SOS, 4, 0x00), Unsupported::Huffman),
        ("undefined Huffman tables", with_byte(&file, SOS, 2, 0x22), Unsupported::Huffman),
        ("lossless", with_marker(0xc3), Unsupported::Lossless),
        ("JPEG-LS", with_marker(0xf7), Unsupported::Lossless),
        ("differential", with_marker(0xc5), Unsupported::Hierarchical),
        ("hierarchical", with_marker(0xde), Unsupported::Hierarchical),
        ("arithmetic", with_marker(0xc9), Unsupported::Arithmetic),
        (
            "arithmetic, by its tables",
            insert_before(&file, SOF, &segment(0xcc, &[0, 1])),
            Unsupported::Arithmetic,
        ),
        ("reserved process", with_marker(0xc8), Unsupported::Process(0xc8)),
        (
            "one component per scan",
            change(&file, SOS, |_| Some(vec![1, 1, 0, 0, 63, 0])),
            Unsupported::SeveralScans,
        ),
        ("a second scan", after_scan(&segment(SOS, &[1, 1, 0, 0, 63, 0])), Unsupported::SeveralScans),
        ("tables after the scan", after_scan(&segment(DHT, &[])), Unsupported::SeveralScans),
        ("height after the scan", after_scan(&segment(0xdc, &[0, 48])), Unsupported::Dnl),
    ] {
        assert_eq!(Jpeg::parse(&file), Err(JpegError::Unsupported(reason)), "{case}");
        let text = reason.to_string();
        assert!(text.contains("encode"), "{case}: no remedy in {text:?}");
    }
}

#[test]
fn malformed_files_are_rejected_with_rule_and_offset() {
    let file = plain(64, 48);
    let restarts = with_restarts(7);
    let marker = restarts.windows(2).position(|pair| pair == [0xff, 0xd1]).unwrap();
    let restart = |bytes: &[u8]| [&restarts[..marker], bytes, &restarts[marker + 2..]].concat();
    let eoi = file.len() - 2;
    for (case, file, rule) in [
        ("empty", vec![], "it does not start with SOI"),
        ("another format", b"GIF89a".to_vec(), "it does not start with SOI"),
        ("SOI alone", vec![0xff, 0xd8], "the file ends before the scan"),
        ("no scan", vec![0xff, 0xd8, 0xff, 0xd9], "EOI occurs before the scan"),
        ("SOI twice", vec![0xff, 0xd8, 0xff, 0xd8], "SOI occurs twice"),
        (
            "a restart marker too early",
            vec![0xff, 0xd8, 0xff, 0xd0],
            "a restart marker occurs before the scan",
        ),
        ("no marker", vec![0xff, 0xd8, 0], "a segment does not start with a marker"),
        ("an invalid marker", vec![0xff, 0xd8, 0xff, 0x30], "a marker code is invalid"),
        ("no length", vec![0xff, 0xd8, 0xff, 0xfe, 0], "the file ends before the length of a segment"),
        (
            "a length of 1",
            vec![0xff, 0xd8, 0xff, 0xfe, 0, 1],
            "the length of a segment is invalid or exceeds the file",
        ),
        (
            "a length beyond the end",
            vec![0xff, 0xd8, 0xff, 0xfe, 0, 9],
            "the length of a segment is invalid or exceeds the file",
        ),
        ("no frame header", change(&file, SOF, |_| None), "the scan is not preceded by a frame header (SOF)"),
        (
            "two frame headers",
            insert_before(&file, SOS, &segment(SOF, &[8, 0, 8, 0, 8, 0])),
            "it has several frame headers (SOF)",
        ),
        (
            "half a frame header",
            change(&file, SOF, |body| Some(body[..5].to_vec())),
            "the frame header (SOF) is too short",
        ),
        (
            "components missing",
            with_byte(&file, SOF, 5, 4),
            "the length of the frame header (SOF) does not match its number of components",
        ),
        (
            "no component",
            change(&file, SOF, |b| Some([&b[..5], &[0]].concat())),
            "the number of components is 0",
        ),
        ("no width", with_byte(&with_byte(&file, SOF, 3, 0), SOF, 4, 0), "the width is 0"),
        ("a factor of 0", with_byte(&file, SOF, 7, 0x20), "a sampling factor is not 1 to 4"),
        ("no tables", without(&file, DQT), "a quantisation table is missing before the scan"),
        ("a table of number 4", with_byte(&file, DQT, 0, 4), "a quantisation table identifier is not 0 to 3"),
        (
            "a table of 24 bits",
            with_byte(&file, DQT, 0, 0x20),
            "the precision of a quantisation table is not 8 or 16 bits",
        ),
        ("a value of 0", with_byte(&file, DQT, 64, 0), "a value of a quantisation table is 0"),
        (
            "half a table",
            change(&file, DQT, |body| Some(body[..40].to_vec())),
            "a quantisation table has fewer than 64 values",
        ),
        (
            "a Huffman table of class 2",
            with_byte(&file, DHT, 0, 0x20),
            "a Huffman table class is not 0 (DC) or 1 (AC)",
        ),
        (
            "a Huffman table of number 4",
            with_byte(&file, DHT, 0, 4),
            "a Huffman table identifier is not 0 to 3",
        ),
        (
            "half a Huffman table",
            change(&file, DHT, |b| Some(b[..20].to_vec())),
            "a Huffman table is truncated",
        ),
        (
            "DRI of 3 bytes",
            insert_before(&file, SOS, &segment(0xdd, &[0, 0, 0])),
            "the length of DRI is not 4",
        ),
        (
            "half a scan header",
            change(&file, SOS, |b| Some(b[..5].to_vec())),
            "the length of the scan header (SOS) does not match its number of components (1 to 4)",
        ),
        ("no scan header", change(&file, SOS, |_| Some(vec![])), "the scan header (SOS) is empty"),
        (
            "another order of components",
            with_byte(&with_byte(&file, SOS, 3, 2), SOS, 5, 1),
            "the components of the scan are not those of the frame in the same order",
        ),
        (
            "part of the spectrum",
            with_byte(&file, SOS, 8, 5),
            "the scan of a baseline picture does not have all coefficients",
        ),
        ("Huffman table 4", with_byte(&file, SOS, 2, 0x44), "a Huffman table identifier is not 0 to 3"),
        ("no data", file[..segments(&file).last().unwrap().2].to_vec(), "the scan has no data"),
        (
            "an unexpected marker in the scan",
            [&file[..eoi], &[0xff, 0xc0], &file[eoi..]].concat(),
            "the scan contains an unexpected marker",
        ),
        (
            "fill bytes without a marker",
            [&file[..eoi], &[0xff, 0xff, 0]].concat(),
            "a fill byte is not followed by a marker",
        ),
        (
            "restarts without interval",
            without(&restarts, 0xdd),
            "a restart marker occurs without a restart interval (DRI)",
        ),
        ("a restart out of order", restart(&[0xff, 0xd2]), "the restart markers are not consecutive"),
        (
            "a missing restart marker",
            restarts[..marker].to_vec(),
            "the number of restart markers does not match the restart interval",
        ),
    ] {
        match Jpeg::parse(&file) {
            Err(JpegError::Malformed { offset, rule: actual }) => {
                assert_eq!(actual, rule, "{case}");
                assert!(offset <= file.len(), "{case}");
            }
            other => panic!("{case}: {other:?}"),
        }
    }
}

/// Truncated and modified files are rejected or parsed, without a panic.
#[test]
fn damaged_files_cause_no_panic() {
    let file = with_restarts(3);
    for length in 0..file.len() {
        let _ = Jpeg::parse(&file[..length]);
    }
    for at in 0..segments(&file).last().unwrap().2 + 40 {
        for value in [0, 1, 0x7f, 0xd9, 0xff] {
            let mut other = file.clone();
            other[at] = value;
            if let Ok(jpeg) = Jpeg::parse(&other) {
                assert!(matches!(jpeg.sampling(), Sampling::Yuv420 | Sampling::Yuv422));
                assert!(jpeg.scan().len() <= file.len());
            }
        }
    }
}
