//! Parses arbitrary session descriptions (SDP): no panic, and accepted descriptions survive a round trip.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_mjpeg_core::Description;

fuzz_target!(|bytes: &[u8]| {
    let Ok(description) = Description::parse(bytes) else { return };
    let copy = Description::parse(description.write(1).as_bytes()).expect("a formatted description is valid");
    assert_eq!(copy, description);
});
