//! A line of a contender: parsed or refused, never a panic; what is accepted can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_lab_protocol::parse_contender_line;

fuzz_target!(|line: &str| {
    if let Ok(message) = parse_contender_line(line) {
        assert_eq!(parse_contender_line(&message.to_line()), Ok(message));
    }
});
