//! Streams of pictures, whole and damaged, in pieces of all sizes.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{encode, insert_before, plain, segment};
use netdyno_mjpeg_core::{Split, Splitter};

const MAX_BYTES: usize = 1 << 20;

/// All that comes of a stream in pieces of so many bytes: pictures, how many were too long, bytes left out.
fn split(stream: &[u8], piece: usize, max_bytes: usize) -> (Vec<Vec<u8>>, usize, u64) {
    let (mut splitter, mut picture) = (Splitter::new(max_bytes), b"what was there before".to_vec());
    let (mut pictures, mut too_long) = (Vec::new(), 0);
    for mut piece in stream.chunks(piece) {
        loop {
            match splitter.split(&mut piece, &mut picture) {
                Split::Picture => pictures.push(picture.clone()),
                Split::TooLong => too_long += 1,
                Split::More => break,
            }
        }
        assert!(piece.is_empty());
    }
    if splitter.finish(&mut picture) {
        pictures.push(picture);
    }
    (pictures, too_long, splitter.left_out_bytes())
}

/// Whatever the pieces are, the pictures are these, and so many bytes are left out.
#[track_caller]
fn check(what: &str, stream: &[u8], pictures: &[&[u8]], left_out: u64) {
    for piece in [1, 2, 3, 7, 64, 1000, stream.len().max(1)] {
        let (found, too_long, bytes) = split(stream, piece, MAX_BYTES);
        let lengths = |list: &[&[u8]]| list.iter().map(|picture| picture.len()).collect::<Vec<_>>();
        let found: Vec<&[u8]> = found.iter().map(Vec::as_slice).collect();
        assert_eq!(lengths(&found), lengths(pictures), "{what}, in pieces of {piece}");
        assert!(found == pictures, "{what}, in pieces of {piece}: other bytes");
        assert_eq!((too_long, bytes), (0, left_out), "{what}, in pieces of {piece}");
    }
}

fn pictures() -> [Vec<u8>; 3] {
    [plain(64, 48), encode(80, 40, 2, |encoder| encoder.set_restart_interval(2)), plain(16, 16)]
}

#[test]
fn one_after_the_other() {
    let [a, b, c] = pictures();
    check("no bytes between", &[&a[..], &b, &c].concat(), &[&a, &b, &c], 0);
    check("nothing", &[], &[], 0);
}

#[test]
fn what_stands_between_is_left_out() {
    let [a, b, c] = pictures();
    let head = b"\r\n--boundary\r\nContent-Type: image/jpeg\r\nContent-Length: 1234\r\n\r\n";
    let multipart = [head, &a[..], head, &b, head, &c, b"\r\n--boundary--\r\n"].concat();
    check("multipart", &multipart, &[&a, &b, &c], 3 * head.len() as u64 + 16);
    let padding = [0; 100];
    check("padding", &[&a[..], &padding, &b, &[0xff; 50], &c, &[0xff]].concat(), &[&a, &b, &c], 151);
    let rubbish: Vec<u8> = (0..=255).filter(|byte| *byte != 0xff).collect();
    check("rubbish", &[&rubbish[..], &a, &rubbish, &b].concat(), &[&a, &b], 510);
}

#[test]
fn a_thumbnail_ends_no_picture() {
    let [a, b, thumbnail] = pictures();
    let exif = insert_before(&a, 0xdb, &segment(0xe1, &[b"Exif\0\0", &thumbnail[..]].concat()));
    check("a thumbnail", &[&exif[..], &b].concat(), &[&exif, &b], 0);
    let comment = insert_before(&a, 0xdb, &segment(0xfe, b"\xff\xd9\xff\xd8\xff"));
    check("EOI in a comment", &[&comment[..], &b].concat(), &[&comment, &b], 0);
    let filled = insert_before(&a, 0xdb, &[0xff, 0xff, 0xff]);
    check("fill bytes", &[&filled[..], &b].concat(), &[&filled, &b], 0);
}

#[test]
fn kinds_that_rfc_2435_does_not_have_are_told_apart_too() {
    let progressive = encode(64, 64, 3, |encoder| encoder.set_progressive(true));
    let optimised = encode(64, 64, 4, |encoder| encoder.set_optimized_huffman_tables(true));
    let stream = [&progressive[..], &optimised, &progressive].concat();
    check("several scans", &stream, &[&progressive, &optimised, &progressive], 0);
}

#[test]
fn without_eoi_it_ends_where_the_next_begins() {
    let [a, b, c] = pictures();
    let (cut_a, cut_c) = (&a[..a.len() - 2], &c[..c.len() - 2]);
    check("one after the other", &[cut_a, &b, cut_c].concat(), &[&a, &b, &c], 0);
    check("half a marker", &[&b[..], cut_c, &[0xff]].concat(), &[&b, &c], 1);
    let head = b"\r\n--boundary\r\nContent-Type: image/jpeg\r\n\r\n";
    let stream = [head, cut_a, head, cut_c, head, &b].concat();
    check("multipart", &stream, &[&a, &c, &b], 3 * head.len() as u64);
}

#[test]
fn what_is_damaged_is_left_out() {
    let [a, b, c] = pictures();
    let headers = common::segments(&a)[1].2;
    check("cut off within its headers", &[&a[..headers], &b, &c].concat(), &[&b, &c], headers as u64);
    // Its first segment says that it has no room for its own length.
    let short = [&[0xff, 0xd8, 0xff, 0xe0, 0, 1], &b[..]].concat();
    check("a segment too short", &short, &[&b], 6);
    check("no scan", &[&[0xff, 0xd8, 0xff, 0xd9], &b[..]].concat(), &[&b], 4);
    check(
        "no marker where one must be",
        &[&a[..headers], b"rubbish", &b].concat(),
        &[&b],
        headers as u64 + 7,
    );
    // A segment that is said to be longer than it is takes others with it, but not what comes after them.
    let long = [0xff, 0xd8, 0xff, 0xe0, 0, 100];
    let left_out = (long.len() + c.len()) as u64;
    check("a segment too long", &[&long[..], &c, &a, &b].concat(), &[&a, &b], left_out);
}

#[test]
fn too_long_ones_are_left_out() {
    let [a, b, _] = pictures();
    let mut long = a.clone();
    let end = long.len() - 2;
    long.splice(end..end, vec![0x55; 10_000]);
    for piece in [1, 100, 20_000] {
        let (found, too_long, left_out) = split(&[&a[..], &long, &b].concat(), piece, 8_000);
        assert_eq!((found, too_long), (vec![a.clone(), b.clone()], 1));
        assert_eq!(left_out, long.len() as u64);
    }
}
