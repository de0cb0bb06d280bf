//! Parses arbitrary lines of a contender: no panic, and accepted lines survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_lab_protocol::parse_contender_line;

fuzz_target!(|line: &str| {
    if let Ok(message) = parse_contender_line(line) {
        assert_eq!(parse_contender_line(&message.to_line()), Ok(message));
    }
});
