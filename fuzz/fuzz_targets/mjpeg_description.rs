//! Whatever a description (SDP) says: no panic, and what is understood of it is written and read alike.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_mjpeg::Description;

fuzz_target!(|bytes: &[u8]| {
    let Ok(description) = Description::parse(bytes) else { return };
    let again = Description::parse(description.write(1).as_bytes()).expect("what is written is read");
    assert_eq!(again, description);
});
