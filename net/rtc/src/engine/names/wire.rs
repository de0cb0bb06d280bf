//! mDNS messages (RFC 6762) for candidates: a query for the addresses of a name, and the answer with one.
//! simple-dns parses and builds them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use simple_dns::rdata::{A, AAAA, RData};
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, ResourceRecord, TYPE};

/// Length of the header, and the position of the section counts in it (RFC 1035, section 4.1.1).
const HEADER_BYTES: usize = 12;
const COUNTS: std::ops::Range<usize> = 4..HEADER_BYTES;
/// Limit of questions, and of records of a section: the library allocates as many as the header claims.
const RECORDS_MAX: u16 = 64;
/// TTLs in seconds: of host names (section 10), and the maximum for legacy queriers (section 6.7).
const TTL_S: u32 = 120;
const LEGACY_TTL_S: u32 = 10;

/// A parsed message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Queried names, with the message id.
    Questions(u16, Vec<String>),
    /// Names, each with an address.
    Answers(Vec<(String, IpAddr)>),
}

/// Builds a query for an IPv4 address, or for an address of either family.
pub(super) fn question(name: &str, both: bool) -> Option<Vec<u8>> {
    let mut packet = Packet::new_query(0);
    for kind in [TYPE::A, TYPE::AAAA].into_iter().take(1 + usize::from(both)) {
        packet.questions.push(Question::new(
            Name::new(name).ok()?,
            QTYPE::TYPE(kind),
            QCLASS::CLASS(CLASS::IN),
            false,
        ));
    }
    packet.build_bytes_vec().ok()
}

/// Builds the answer: to the group, or to a legacy querier with its message id.
pub(super) fn answer(name: &str, address: IpAddr, legacy: Option<u16>) -> Option<Vec<u8>> {
    let (kind, data) = match address {
        IpAddr::V4(ip) => (TYPE::A, RData::A(A { address: ip.into() })),
        IpAddr::V6(ip) => (TYPE::AAAA, RData::AAAA(AAAA { address: ip.into() })),
    };
    let mut packet = Packet::new_reply(legacy.unwrap_or(0));
    packet.set_flags(PacketFlag::AUTHORITATIVE_ANSWER);
    let ttl = if legacy.is_some() { LEGACY_TTL_S } else { TTL_S };
    if legacy.is_some() {
        let question =
            Question::new(Name::new(name).ok()?, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false);
        packet.questions.push(question);
    }
    let record = ResourceRecord::new(Name::new(name).ok()?, CLASS::IN, ttl, data);
    packet.answers.push(record.with_cache_flush(legacy.is_none()));
    packet.build_bytes_vec().ok()
}

/// Parses a message. `None`: invalid, or longer than any host sends.
pub(super) fn read(datagram: &[u8]) -> Option<Message> {
    let counts = datagram.get(COUNTS)?.chunks_exact(2);
    if counts.map(|count| u16::from_be_bytes([count[0], count[1]])).any(|count| count > RECORDS_MAX) {
        return None;
    }
    let packet = Packet::parse(datagram).ok()?;
    if !packet.has_flags(PacketFlag::RESPONSE) {
        let is_for_address =
            |kind: QTYPE| matches!(kind, QTYPE::ANY | QTYPE::TYPE(TYPE::A) | QTYPE::TYPE(TYPE::AAAA));
        let asked = packet.questions.iter().filter(|question| is_for_address(question.qtype));
        return Some(Message::Questions(packet.id(), asked.map(|it| it.qname.to_string()).collect()));
    }
    let records = packet.answers.iter().chain(&packet.additional_records);
    let addresses = records.filter_map(|record| {
        let address: IpAddr = match &record.rdata {
            RData::A(a) => Ipv4Addr::from(a.address).into(),
            RData::AAAA(aaaa) => Ipv6Addr::from(aaaa.address).into(),
            _ => return None,
        };
        // Chromium answers `::` if it has no address of that family.
        let is_one = |address: &IpAddr| !address.is_unspecified() && !address.is_multicast();
        Some(address).filter(is_one).map(|address| (record.name.to_string(), address))
    });
    Some(Message::Answers(addresses.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "1f4712db-ea17-4bcf-a596-105139dfd8bf.local";

    #[test]
    fn questions_are_answered() {
        let asked = question(NAME, true).unwrap();
        // As in RFC 6762: id 0, a query, two questions of class IN that may be answered by multicast.
        assert_eq!(asked[..12], [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!((asked[12], &asked[13..49]), (36, &NAME.as_bytes()[..36]));
        assert_eq!(asked[asked.len() - 4..], [0, 28, 0, 1]);
        assert_eq!(read(&asked), Some(Message::Questions(0, vec![NAME.to_owned(); 2])));
        let asked = question(NAME, false).unwrap();
        assert_eq!(read(&asked), Some(Message::Questions(0, vec![NAME.to_owned()])));
        for none in ["::", "0.0.0.0", "224.0.0.251"] {
            let answer = answer(NAME, none.parse().unwrap(), None).unwrap();
            assert_eq!(read(&answer), Some(Message::Answers(Vec::new())), "{none}");
        }
        for address in ["192.0.2.7", "2001:db8::7"].map(|text| text.parse().unwrap()) {
            for legacy in [None, Some(77)] {
                let answer = answer(NAME, address, legacy).unwrap();
                assert_eq!(answer[..4], [0, legacy.unwrap_or(0) as u8, 0x84, 0]);
                assert_eq!(read(&answer), Some(Message::Answers(vec![(NAME.to_owned(), address)])));
            }
        }
    }

    #[test]
    fn truncated_and_corrupted_input_is_harmless() {
        let address = "192.0.2.7".parse().unwrap();
        for whole in [question(NAME, true).unwrap(), answer(NAME, address, Some(1)).unwrap()] {
            for length in 0..whole.len() {
                let _ = read(&whole[..length]);
            }
            for at in 0..whole.len() {
                for value in 0..=255 {
                    let mut bent = whole.clone();
                    bent[at] = value;
                    let _ = read(&bent);
                }
            }
        }
        // A header that claims more records than there are, and a name that points to itself.
        assert_eq!(read(&[0, 0, 0x84, 0, 0, 0, 255, 255, 0, 0, 0, 0]), None);
        assert_eq!(read(&[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1]), None);
    }
}
