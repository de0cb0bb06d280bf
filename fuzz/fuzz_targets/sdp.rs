//! Parses arbitrary session descriptions and candidate lines: no panic, and accepted ones survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_rtc_core::Limits;
use netdyno_rtc_core::sdp::{Candidate, Description};

fuzz_target!(|text: &str| {
    // The written form may be twice as long, because attributes of the session are moved into the section.
    let mut limits = Limits::default();
    limits.max_sdp_bytes *= 2;
    if text.len() > limits.max_sdp_bytes / 2 {
        return;
    }
    if let Ok(description) = Description::parse(text, &limits) {
        let written = description.to_string();
        assert_eq!(Description::parse(&written, &limits).as_ref(), Ok(&description), "{written}");
    }
    if let Ok(Some(candidate)) = Candidate::parse(text) {
        assert_eq!(Candidate::parse(&candidate.to_string()), Ok(Some(candidate)));
    }
});
