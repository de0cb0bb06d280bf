//! Parses arbitrary DCEP messages: no panic, and accepted messages survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_rtc_core::dcep::Dcep;

fuzz_target!(|bytes: &[u8]| {
    if let Some(Dcep::Open(open)) = Dcep::parse(bytes) {
        assert_eq!(Dcep::parse(&open.to_bytes()), Some(Dcep::Open(open)));
    }
});
