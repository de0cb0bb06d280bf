//! Splits arbitrary streams into pictures: the result is independent of segmentation, every byte is accounted for, the length limit
//! holds, and each picture is found again unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_mjpeg_core::{Split, Splitter};

/// The number of bytes by which a picture can exceed its limit: a missing EOI is appended.
const EOI_BYTES: usize = 2;

struct Outcome {
    pictures: Vec<Vec<u8>>,
    too_long: usize,
    left_out: u64,
}

fn split(stream: &[u8], sizes: &[u8], max_bytes: usize) -> Outcome {
    let (mut splitter, mut picture, mut rest) = (Splitter::new(max_bytes), Vec::new(), stream);
    let mut outcome = Outcome { pictures: Vec::new(), too_long: 0, left_out: 0 };
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = usize::from(*sizes.next().unwrap_or(&255)).clamp(1, rest.len());
        let (mut piece, after) = rest.split_at(size);
        rest = after;
        loop {
            match splitter.split(&mut piece, &mut picture) {
                Split::Picture => outcome.pictures.push(picture.clone()),
                Split::TooLong => outcome.too_long += 1,
                Split::More => break,
            }
        }
        assert!(piece.is_empty());
    }
    if splitter.finish(&mut picture) {
        outcome.pictures.push(picture);
    }
    outcome.left_out = splitter.skipped_bytes();
    outcome
}

fuzz_target!(|input: (u16, Vec<u8>, Vec<u8>)| {
    let (max_bytes, sizes, stream) = (usize::from(input.0), input.1, input.2);
    let whole = split(&stream, &[], max_bytes);
    let pieces = split(&stream, &sizes, max_bytes);
    assert_eq!(whole.pictures, pieces.pictures);
    assert_eq!((whole.too_long, whole.left_out), (pieces.too_long, pieces.left_out));
    let mut found = 0;
    for picture in &whole.pictures {
        assert!(picture.starts_with(&[0xff, 0xd8]) && picture.ends_with(&[0xff, 0xd9]));
        assert!(picture.len() <= max_bytes + EOI_BYTES);
        found += picture.len() as u64;
        let again = split(picture, &sizes, usize::MAX);
        assert_eq!((&again.pictures[..], again.left_out), (std::slice::from_ref(picture), 0));
    }
    let (all, length) = (found + whole.left_out, stream.len() as u64);
    assert!(
        (length..=length + (EOI_BYTES * whole.pictures.len()) as u64).contains(&all),
        "{all} of {length}"
    );
});
