//! Parses arbitrary bytes as a property map: accepted maps survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_echonet_core::PropertyMap;

fuzz_target!(|bytes: &[u8]| {
    let Ok(map) = PropertyMap::decode(bytes) else { return };
    assert!(map.iter().all(|epc| epc.0 >= 0x80 && map.contains(epc)));
    assert_eq!(map.iter().count(), map.len());
    assert_eq!(map.iter().collect::<PropertyMap>(), map);
    let encoded = map.encode();
    assert_eq!(PropertyMap::decode(encoded.as_bytes()), Ok(map));
});
