//! DCEP of a peer: no bytes make the parser panic, and what it takes it writes so that it reads the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_rtc_core::dcep::Dcep;

fuzz_target!(|bytes: &[u8]| {
    if let Some(Dcep::Open(open)) = Dcep::parse(bytes) {
        assert_eq!(Dcep::parse(&open.to_bytes()), Some(Dcep::Open(open)));
    }
});
