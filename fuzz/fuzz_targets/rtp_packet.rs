//! Parses arbitrary bytes as RTP: accepted packets survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_rtp::{Kind, Outgoing, Packet, kind};

fuzz_target!(|datagram: &[u8]| {
    let Ok(packet) = Packet::parse(datagram) else { return };
    assert_ne!(kind(datagram), Kind::Other);
    let csrcs: Vec<_> = packet.csrcs.collect();
    let elements: Vec<_> = packet.extension.elements().collect();
    let Packet { header, payload, padding_bytes, .. } = packet;
    let outgoing = Outgoing { header, csrcs: &csrcs, elements: &elements, payload, padding_bytes };
    let mut out = vec![0xff; outgoing.length()];
    assert_eq!(outgoing.write(&mut out), Ok(out.len()));
    let again = Packet::parse(&out).expect("a written packet is valid");
    assert_eq!((again.header, again.payload, again.padding_bytes), (header, payload, padding_bytes));
    assert_eq!(again.csrcs.collect::<Vec<_>>(), csrcs);
    assert_eq!(again.extension.elements().collect::<Vec<_>>(), elements);
    if let Some(short) = out.len().checked_sub(1) {
        assert!(outgoing.write(&mut out[..short]).is_err());
    }
});
