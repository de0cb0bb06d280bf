//! Any bytes as replies: the same values and the same end, however the bytes are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_resp::{ReplyError, ReplyLimits, ReplyParser};

fuzz_target!(|input: (u8, &[u8])| {
    let (step, bytes) = input;
    assert_eq!(run(bytes, usize::from(step.max(1))), run(bytes, usize::MAX));
});

/// The values of `bytes`, of which `step` more are there each time.
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
