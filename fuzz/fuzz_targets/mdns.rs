//! Parses arbitrary bytes as mDNS messages: no panic, bounded results, and our messages about a candidate's name survive a round
//! trip.

#![no_main]

#[path = "../../net/rtc/src/engine/names/wire.rs"]
mod wire;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use wire::Message;

/// Maximum number of records of each kind, and of questions (`RECORDS_MAX`).
const RECORDS_MAX: usize = 64;

fuzz_target!(|datagram: &[u8]| {
    match wire::read(datagram) {
        Some(Message::Questions(number, names)) => {
            assert!(names.len() <= RECORDS_MAX);
            names.iter().for_each(|name| say(name, number));
        }
        Some(Message::Answers(addresses)) => {
            // In the answer and additional sections.
            assert!(addresses.len() <= 2 * RECORDS_MAX);
            for (name, address) in &addresses {
                assert!(!address.is_unspecified() && !address.is_multicast());
                say(name, 7);
            }
        }
        None => {}
    }
});

/// Writes a query for a name and its answer.
fn say(name: &str, number: u16) {
    let label = name.strip_suffix(".local").unwrap_or_default();
    let is_candidate_s = (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    for both in [false, true] {
        let asked = wire::question(name, both);
        assert!(asked.is_some() || !is_candidate_s);
        let read = asked.and_then(|asked| wire::read(&asked));
        if is_candidate_s {
            assert_eq!(read, Some(Message::Questions(0, vec![name.to_owned(); 1 + usize::from(both)])));
        }
    }
    for address in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
        for legacy in [None, Some(number)] {
            let read = wire::answer(name, address, legacy).and_then(|answer| wire::read(&answer));
            if is_candidate_s {
                assert_eq!(read, Some(Message::Answers(vec![(name.to_owned(), address)])));
            }
        }
    }
}
