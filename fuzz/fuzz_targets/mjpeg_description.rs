//! Whatever a description (SDP) says: no panic, and what is understood of it is written and read alike.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_mjpeg::Description;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut description) = Description::parse(bytes) else { return };
    // Only groups have them.
    description.hops = description.hops.filter(|_| description.address.is_multicast() && description.address.is_ipv4());
    let again = Description::parse(description.write(1).as_bytes()).expect("what is written is read");
    assert_eq!(again, description);
});
