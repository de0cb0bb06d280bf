//! Splits streams of intact and damaged pictures, in chunks of various sizes.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{encode, insert_before, plain, segment};
use netdyno_mjpeg_core::{Split, Splitter};

const MAX_BYTES: usize = 1 << 20;

/// Splits a stream in chunks. Returns the pictures, the number of excessive pictures and the number of skipped bytes.
fn split(stream: &[u8], chunk_bytes: usize, max_bytes: usize) -> (Vec<Vec<u8>>, usize, u64) {
    let (mut splitter, mut picture) = (Splitter::new(max_bytes), b"old contents".to_vec());
    let (mut pictures, mut too_long) = (Vec::new(), 0);
    for mut chunk in stream.chunks(chunk_bytes) {
        loop {
            match splitter.split(&mut chunk, &mut picture) {
                Split::Picture => pictures.push(picture.clone()),
                Split::TooLong => too_long += 1,
                Split::More => break,
            }
        }
        assert!(chunk.is_empty());
    }
    if splitter.finish(&mut picture) {
        pictures.push(picture);
    }
    (pictures, too_long, splitter.skipped_bytes())
}

/// Checks pictures and skipped bytes for several chunk sizes.
#[track_caller]
fn check(case: &str, stream: &[u8], pictures: &[&[u8]], skipped: u64) {
    for chunk in [1, 2, 3, 7, 64, 1000, stream.len().max(1)] {
        let (found, too_long, bytes) = split(stream, chunk, MAX_BYTES);
        let lengths = |list: &[&[u8]]| list.iter().map(|picture| picture.len()).collect::<Vec<_>>();
        let found: Vec<&[u8]> = found.iter().map(Vec::as_slice).collect();
        assert_eq!(lengths(&found), lengths(pictures), "{case}, in chunks of {chunk}");
        assert!(found == pictures, "{case}, in chunks of {chunk}: other bytes");
        assert_eq!((too_long, bytes), (0, skipped), "{case}, in chunks of {chunk}");
    }
}

fn pictures() -> [Vec<u8>; 3] {
    [plain(64, 48), encode(80, 40, 2, |encoder| encoder.set_restart_interval(2)), plain(16, 16)]
}

#[test]
fn concatenated_pictures_are_split() {
    let [a, b, c] = pictures();
    check("concatenated", &[&a[..], &b, &c].concat(), &[&a, &b, &c], 0);
    check("empty", &[], &[], 0);
}

#[test]
fn data_between_pictures_are_skipped() {
    let [a, b, c] = pictures();
    let head = b"\r\n--boundary\r\nContent-Type: image/jpeg\r\nContent-Length: 1234\r\n\r\n";
    let multipart = [head, &a[..], head, &b, head, &c, b"\r\n--boundary--\r\n"].concat();
    check("multipart", &multipart, &[&a, &b, &c], 3 * head.len() as u64 + 16);
    let padding = [0; 100];
    check("padding", &[&a[..], &padding, &b, &[0xff; 50], &c, &[0xff]].concat(), &[&a, &b, &c], 151);
    let garbage: Vec<u8> = (0..=255).filter(|byte| *byte != 0xff).collect();
    check("garbage", &[&garbage[..], &a, &garbage, &b].concat(), &[&a, &b], 510);
}

#[test]
fn segments_may_contain_markers() {
    let [a, b, thumbnail] = pictures();
    let exif = insert_before(&a, 0xdb, &segment(0xe1, &[b"Exif\0\0", &thumbnail[..]].concat()));
    check("a thumbnail", &[&exif[..], &b].concat(), &[&exif, &b], 0);
    let comment = insert_before(&a, 0xdb, &segment(0xfe, b"\xff\xd9\xff\xd8\xff"));
    check("EOI in a comment", &[&comment[..], &b].concat(), &[&comment, &b], 0);
    let filled = insert_before(&a, 0xdb, &[0xff, 0xff, 0xff]);
    check("fill bytes", &[&filled[..], &b].concat(), &[&filled, &b], 0);
}

#[test]
fn pictures_with_several_scans_are_split() {
    let progressive = encode(64, 64, 3, |encoder| encoder.set_progressive(true));
    let optimised = encode(64, 64, 4, |encoder| encoder.set_optimized_huffman_tables(true));
    let stream = [&progressive[..], &optimised, &progressive].concat();
    check("several scans", &stream, &[&progressive, &optimised, &progressive], 0);
}

#[test]
fn picture_without_eoi_ends_at_the_next_soi() {
    let [a, b, c] = pictures();
    let (cut_a, cut_c) = (&a[..a.len() - 2], &c[..c.len() - 2]);
    check("concatenated", &[cut_a, &b, cut_c].concat(), &[&a, &b, &c], 0);
    check("half a marker", &[&b[..], cut_c, &[0xff]].concat(), &[&b, &c], 1);
    let head = b"\r\n--boundary\r\nContent-Type: image/jpeg\r\n\r\n";
    let stream = [head, cut_a, head, cut_c, head, &b].concat();
    check("multipart", &stream, &[&a, &c, &b], 3 * head.len() as u64);
}

#[test]
fn damaged_pictures_are_skipped() {
    let [a, b, c] = pictures();
    let headers = common::segments(&a)[1].2;
    check("truncated headers", &[&a[..headers], &b, &c].concat(), &[&b, &c], headers as u64);
    // The length of the first segment is less than that of its length field.
    let short = [&[0xff, 0xd8, 0xff, 0xe0, 0, 1], &b[..]].concat();
    check("segment length too small", &short, &[&b], 6);
    check("no scan", &[&[0xff, 0xd8, 0xff, 0xd9], &b[..]].concat(), &[&b], 4);
    check("missing marker", &[&a[..headers], b"garbage", &b].concat(), &[&b], headers as u64 + 7);
    // A segment with an excessive length hides the next picture only.
    let long = [0xff, 0xd8, 0xff, 0xe0, 0, 100];
    let skipped = (long.len() + c.len()) as u64;
    check("segment length too large", &[&long[..], &c, &a, &b].concat(), &[&a, &b], skipped);
}

#[test]
fn excessive_pictures_are_skipped() {
    let [a, b, _] = pictures();
    let mut long = a.clone();
    let end = long.len() - 2;
    long.splice(end..end, vec![0x55; 10_000]);
    for chunk in [1, 100, 20_000] {
        let (found, too_long, skipped) = split(&[&a[..], &long, &b].concat(), chunk, 8_000);
        assert_eq!((found, too_long), (vec![a.clone(), b.clone()], 1));
        assert_eq!(skipped, long.len() as u64);
    }
}
