//! Parses arbitrary bytes as replies: the result is independent of segmentation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_resp::{ReplyError, ReplyLimits, ReplyParser};

fuzz_target!(|input: (u8, &[u8])| {
    let (step, bytes) = input;
    assert_eq!(run(bytes, usize::from(step.max(1))), run(bytes, usize::MAX));
});

/// Returns the values of `bytes`, which arrive in segments of `step` bytes.
fn run(bytes: &[u8], step: usize) -> (Vec<(String, bool)>, Option<ReplyError>) {
    let limits = ReplyLimits { max_line_bytes: 64, max_bulk_bytes: 4096, ..ReplyLimits::default() };
    let mut parser = ReplyParser::new(limits);
    let (mut values, mut at, mut there) = (Vec::new(), 0, 0);
    while there < bytes.len() {
        there = there.saturating_add(step).min(bytes.len());
        loop {
            match parser.next(&bytes[at..there]) {
                Ok(Some((value, done))) => {
                    values.push((format!("{value:?}"), parser.is_whole()));
                    at += done;
                }
                Ok(None) => break,
                Err(error) => return (values, Some(error)),
            }
        }
    }
    (values, None)
}
