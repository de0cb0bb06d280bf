//! A device's answers, byte by byte (ECHONET Lite Specification, Part 2, chapters 3, 4 and 6).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod common;

use std::io::ErrorKind;
use std::time::Duration;

use common::{Bench, LIGHT, MAKER, address, hex, home, to_hex, unicast};
use netdyno_echonet_core::{
    AbuseKind, Access, ClassCode, ConnectionId, Decision, Description, DescriptionError, Destination, Device,
    DeviceConfig, DeviceEvent, Eoj, Epc, Frame, MESSAGE_BYTES_MAX, ObjectDescription, PropertyDescription,
    PropertyMap, SetError, Source,
};

/// The answers of a new node to one request.
fn check(name: &str, request: &str, expected: &[&str]) {
    let mut bench = Bench::new(&home());
    let answers = bench.send(&hex(request), unicast(9));
    let expected: Vec<String> = expected
        .iter()
        .map(|row| {
            let (to, bytes) = row.split_once(' ').unwrap();
            format!("{to} {}", to_hex(&hex(bytes)))
        })
        .collect();
    assert_eq!(answers, expected, "{name}");
}

#[test]
fn requests_are_answered() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("a read", "1081 0102 05FF01 029101 62 01 8000", &["9 1081 0102 029101 05FF01 72 01 800130"]),
        (
            "TID 0 is repeated",
            "1081 0000 05FF01 029101 62 01 8000",
            &["9 1081 0000 029101 05FF01 72 01 800130"],
        ),
        (
            "bytes after the end",
            "1081 0102 05FF01 029101 62 01 8000 FFFF",
            &["9 1081 0102 029101 05FF01 72 01 800130"],
        ),
        (
            "a read with one unknown property",
            "1081 0102 05FF01 029101 62 03 8000 EE00 B000",
            &["9 1081 0102 029101 05FF01 52 03 800130 EE00 B00164"],
        ),
        (
            "a read of what is no property at all",
            "1081 0102 05FF01 029101 62 01 1200",
            &["9 1081 0102 029101 05FF01 52 01 1200"],
        ),
        (
            "a read of what can only be written",
            "1081 0102 05FF01 029101 62 01 D100",
            &["9 1081 0102 029101 05FF01 52 01 D100"],
        ),
        (
            "a read with values that should not be there",
            "1081 0102 05FF01 029101 62 01 800131",
            &["9 1081 0102 029101 05FF01 72 01 800130"],
        ),
        (
            "a read by the node profile of another",
            "1081 0102 0EF001 0EF001 62 02 D600 D400",
            &["9 1081 0102 0EF001 0EF001 72 02 D607 02 029101 029102 D4020002"],
        ),
        (
            "D5 is announced, not read",
            "1081 0102 05FF01 0EF001 62 01 D500",
            &["9 1081 0102 0EF001 05FF01 52 01 D500"],
        ),
        (
            "a requested D5 is announced",
            "1081 0102 05FF01 0EF001 63 01 D500",
            &["all 1081 0102 0EF001 05FF01 73 01 D507 02 029101 029102"],
        ),
        (
            "a partial INF_REQ is refused to the requester",
            "1081 0102 05FF01 029101 63 02 8000 EE00",
            &["9 1081 0102 029101 05FF01 53 02 800130 EE00"],
        ),
        (
            "a write that changes a value that is announced",
            "1081 0102 05FF01 029101 61 01 800131",
            &["9 1081 0102 029101 05FF01 71 01 8000", "all 1081 0001 029101 0EF001 73 01 800131"],
        ),
        (
            "a write that changes nothing",
            "1081 0102 05FF01 029101 61 01 800130",
            &["9 1081 0102 029101 05FF01 71 01 8000"],
        ),
        (
            "a write in part",
            "1081 0102 05FF01 029101 61 04 B00132 EE0107 820400000000 D103010203",
            &["9 1081 0102 029101 05FF01 51 04 B000 EE0107 820400000000 D103010203"],
        ),
        (
            "a write of a wrong length",
            "1081 0102 05FF01 029101 61 02 B0020032 B000",
            &["9 1081 0102 029101 05FF01 51 02 B0020032 B000"],
        ),
        (
            "a write that the description refuses",
            "1081 0102 05FF01 029101 61 01 C00132",
            &["9 1081 0102 029101 05FF01 51 01 C00132"],
        ),
        ("a write without an answer", "1081 0102 05FF01 029101 60 01 B00132", &[]),
        (
            "a write without an answer, in part",
            "1081 0102 05FF01 029101 60 02 B00132 EE0107",
            &["9 1081 0102 029101 05FF01 50 02 B000 EE0107"],
        ),
        (
            "SetGet reads what it wrote",
            "1081 0102 05FF01 029101 6E 01 B00132 02 B000 8000",
            &["9 1081 0102 029101 05FF01 7E 01 B000 02 B00132 800130"],
        ),
        (
            "SetGet, its write refused",
            "1081 0102 05FF01 029101 6E 02 EE0132 B00105 01 B000",
            &["9 1081 0102 029101 05FF01 5E 02 EE0132 B000 01 B00105"],
        ),
        (
            "SetGet, its read refused",
            "1081 0102 05FF01 029101 6E 01 B00132 01 EE00",
            &["9 1081 0102 029101 05FF01 5E 01 B000 01 EE00"],
        ),
        (
            "SetGet with nothing to write",
            "1081 0102 05FF01 029101 6E 00 01 B000",
            &["9 1081 0102 029101 05FF01 7E 00 01 B00164"],
        ),
        (
            "INFC to our profile",
            "1081 0102 013001 0EF001 74 02 800130 BB01FF",
            &["9 1081 0102 0EF001 013001 7A 02 8000 BB00"],
        ),
        (
            "all instances",
            "1081 0102 05FF01 029100 62 01 8000",
            &["9 1081 0102 029101 05FF01 72 01 800130", "9 1081 0102 029102 05FF01 72 01 800130"],
        ),
        (
            "a write to all instances",
            "1081 0102 05FF01 029100 60 01 800131",
            &["all 1081 0001 029101 0EF001 73 01 800131", "all 1081 0002 029102 0EF001 73 01 800131"],
        ),
        (
            "all node profiles",
            "1081 0102 05FF01 0EF000 62 01 8000",
            &["9 1081 0102 0EF001 05FF01 72 01 800130"],
        ),
    ];
    for (name, request, expected) in rows {
        check(name, request, expected);
    }
}

#[test]
fn messages_for_others_are_ignored() {
    let rows = [
        ("an object that we do not have", "1081 0102 05FF01 013001 62 01 8000"),
        ("an instance that we do not have", "1081 0102 05FF01 029103 62 01 8000"),
        ("all instances of a class that we do not have", "1081 0102 05FF01 013000 62 01 8000"),
        ("an unknown service", "1081 0102 05FF01 029101 6F 01 8000"),
        ("an answer", "1081 0102 05FF01 029101 72 01 800130"),
        ("a refusal", "1081 0102 05FF01 029101 52 01 8000"),
        ("a notification", "1081 0102 05FF01 029101 73 01 800130"),
        ("no properties", "1081 0102 05FF01 029101 62 00"),
        ("no properties in either list", "1081 0102 05FF01 029101 6E 00 00"),
        ("a SetGet cut short", "1081 0001 05FF01 0EF001 6E 00"),
        ("a value past the end", "1081 0001 05FF01 0EF001 61 01 8002 30"),
        ("fewer properties than announced", "1081 0001 05FF01 0EF001 62 02 8000"),
        ("half a property", "1081 0001 05FF01 0EF001 62 01 80"),
        ("no header", "1081 0001 05FF01 0EF0"),
        ("one byte", "10"),
        ("nothing", ""),
        ("another protocol", "2081 0102 05FF01 029101 62 01 8000"),
        ("an arbitrary format", "1082 0102 05FF01 029101 62 01 8000"),
        ("another format", "1083 0102 05FF01 029101 62 01 8000"),
    ];
    for (name, request) in rows {
        check(name, request, &[]);
    }
}

#[test]
fn the_node_profile_lists_the_nodes_objects() {
    let bench = Bench::new(&home());
    let node = |epc| bench.device.get(Eoj::NODE_PROFILE, Epc(epc)).unwrap();
    let rows = [
        (0x80, "30"),
        (0x82, "010D0100"),
        (0x83, "FE 00000B 6120756E69717565206E756D62"),
        (0x8A, "00000B"),
        (0x9D, "02 80D5"),
        (0x9E, "00"),
        (0x9F, "0B 80 82 83 8A 9D 9E 9F D3 D4 D6 D7"),
        (0xD3, "000002"),
        (0xD4, "0002"),
        (0xD6, "02 029101 029102"),
        (0xD7, "01 0291"),
    ];
    for (epc, value) in rows {
        assert_eq!(to_hex(node(epc)), to_hex(&hex(value)), "{epc:02X}");
    }
    let maps = [(0x9D, "80 81 88 B6"), (0x9E, "80 81 B0 B6 C0 D0 D1")];
    for (epc, codes) in maps {
        let map = PropertyMap::decode(bench.device.get(LIGHT, Epc(epc)).unwrap()).unwrap();
        assert_eq!(map, hex(codes).into_iter().map(Epc).collect(), "{epc:02X}");
    }
    assert_eq!(bench.device.get(LIGHT, Epc(0xEE)), None);
    assert_eq!(bench.device.get(Eoj([1, 0x30, 1]), Epc(0x80)), None);
}

/// A node with this many instances of lighting and of sensors, up to 127 of each class.
fn crowd(count: usize) -> Description {
    (0..count).fold(Description::new(MAKER, [7; 13]), |node, index| {
        let class = ClassCode(u16::try_from(index / 127).unwrap() + 0x0260);
        node.object(ObjectDescription::new(class.instance(u8::try_from(index % 127).unwrap() + 1)))
    })
}

#[test]
fn lists_have_84_instances_and_announcements_are_split() {
    for (count, parts) in [(0, &[0][..]), (1, &[1]), (84, &[84]), (85, &[84, 1]), (300, &[84, 84, 84, 48])] {
        let mut bench = Bench::new(&crowd(count));
        let node = |epc| bench.device.get(Eoj::NODE_PROFILE, Epc(epc)).unwrap();
        let listed = count.min(84);
        assert_eq!(usize::from(node(0xD6)[0]), listed, "{count}");
        assert_eq!(node(0xD6).len(), 1 + 3 * listed, "{count}");
        assert_eq!(node(0xD3), &u32::try_from(count).unwrap().to_be_bytes()[1..], "{count}");
        assert_eq!(usize::from(node(0xD4)[1]), 1 + count.div_ceil(127), "{count}");
        bench.device.announce();
        let events = bench.poll();
        let lengths: Vec<usize> = events.iter().map(|datagram| (datagram.len() - 4) / 2 - 14).collect();
        let expected: Vec<usize> = parts.iter().map(|part| 1 + 3 * part).collect();
        assert_eq!(lengths, expected, "{count}");
        assert!(events.iter().all(|datagram| datagram[12..].starts_with("0EF0010EF0017301D5")), "{count}");
    }
    // Nine classes: eight are listed.
    let bench = Bench::new(&crowd(127 * 8 + 1));
    assert_eq!(bench.device.get(Eoj::NODE_PROFILE, Epc(0xD7)).unwrap().len(), 17);
    assert_eq!(bench.device.get(Eoj::NODE_PROFILE, Epc(0xD4)).unwrap(), [0, 10]);
}

#[test]
fn maps_of_15_and_of_16_properties() {
    for (count, bytes) in [(12, 16), (13, 17)] {
        let mut object = ObjectDescription::new(LIGHT);
        for code in 0xB0..0xB0 + count {
            object = object.property(Epc(code), [0], Access::GET);
        }
        let device = Device::new(&Description::new(MAKER, [7; 13]).object(object)).unwrap();
        let map = device.get(LIGHT, Epc(0x9F)).unwrap();
        assert_eq!((map.len(), map[0]), (bytes, count + 3));
        assert_eq!(PropertyMap::decode(map).unwrap().len(), usize::from(count) + 3);
    }
}

#[test]
fn a_changed_value_is_announced_once() {
    let mut bench = Bench::new(&home());
    let device = &mut bench.device;
    assert_eq!(device.set(LIGHT, Epc(0x80), &[0x31]), Ok(true));
    assert_eq!(device.set(LIGHT, Epc(0x80), &[0x31]), Ok(false));
    assert_eq!(device.set(LIGHT, Epc(0x88), &[0x41]), Ok(true));
    assert_eq!(device.set(LIGHT, Epc(0x80), &[0x32]), Ok(true));
    assert_eq!(device.set(LIGHT, Epc(0xB0), &[1]), Ok(true), "not announced");
    assert_eq!(device.set(LIGHT, Epc(0x9F), &[0]), Err(SetError::Computed(Epc(0x9F))));
    assert_eq!(device.set(LIGHT, Epc(0xEE), &[0]), Err(SetError::NoProperty(Epc(0xEE))));
    assert_eq!(device.set(Eoj::CONTROLLER, Epc(0x80), &[0]), Err(SetError::NoObject(Eoj::CONTROLLER)));
    assert_eq!(device.set(LIGHT, Epc(0x80), &[]), Err(SetError::Length { epc: Epc(0x80), bytes: 0 }));
    assert_eq!(bench.poll(), ["all 108100010291010EF0017301800132", "all 108100020291010EF0017301880141"]);
    bench.device.notify(LIGHT, Epc(0xB0)).unwrap();
    assert_eq!(bench.poll(), ["all 108100030291010EF0017301B00101"]);
    assert!(bench.poll().is_empty());
}

#[test]
fn the_application_decides() {
    let write = hex("1081 0102 05FF01 029101 61 03 B00105 B60142 B60143");
    let rows = [
        (Some([true, true]), "9 10810102029101 05FF01 71 03 B000 B600 B600"),
        (Some([true, false]), "9 10810102029101 05FF01 51 03 B000 B600 B60143"),
        (None, "9 10810102029101 05FF01 51 03 B000 B60142 B60143"),
    ];
    for (decisions, expected) in rows {
        let mut bench = Bench::new(&home());
        assert!(bench.send(&write, unicast(9)).is_empty());
        assert!(bench.send(&write, unicast(9)).is_empty(), "sent again, it waits as before");
        let mut undecided = Vec::new();
        while let Some(event) = bench.device.poll_event() {
            let DeviceEvent::WriteRequested { id, from, eoj, epc, value } = event else {
                panic!("nothing is written yet")
            };
            assert_eq!((from, eoj, epc), (address(9), LIGHT, Epc(0xB6)));
            undecided.push((id, value));
        }
        assert_eq!(undecided.iter().map(|(_, value)| value[0]).collect::<Vec<_>>(), [0x42, 0x43]);
        match decisions {
            Some(accepted) => {
                for ((id, _), accept) in undecided.iter().zip(accepted) {
                    let decision = if accept { Decision::Accept } else { Decision::Refuse };
                    assert!(bench.device.decide(*id, decision));
                    assert!(!bench.device.decide(*id, decision), "once");
                }
            }
            None => {
                assert_eq!(bench.device.next_deadline(), Some(bench.now + Duration::from_millis(800)));
                bench.wait(Duration::from_millis(800));
                assert!(!bench.device.decide(undecided[0].0, Decision::Accept), "too late");
            }
        }
        assert_eq!(bench.poll()[0].replace(' ', ""), expected.replace(' ', ""));
        assert_eq!(bench.device.next_deadline(), None);
    }
}

#[test]
fn unsent_messages_are_reported_within_limits() {
    let mut config = DeviceConfig::default();
    config.max_events = 2;
    let mut device = Device::with_config(&home(), config).unwrap();
    let to = Destination::Node(address(9));
    for _ in 0..3 {
        device.handle_unsent(to, ErrorKind::PermissionDenied);
    }
    let unsent = DeviceEvent::Unsent { to, error: ErrorKind::PermissionDenied };
    let events: Vec<_> = std::iter::from_fn(|| device.poll_event()).collect();
    assert_eq!(events, [unsent.clone(), unsent]);
    assert_eq!((device.stats().unsent, device.stats().dropped), (3, 1));
}

#[test]
fn a_multicast_received_on_two_interfaces_is_answered_once() {
    let mut bench = Bench::new(&home());
    let search = hex("1081 0102 05FF01 0EF001 62 01 D600");
    let all = Source::multicast(address(9));
    assert_eq!(bench.send(&search, all).len(), 1);
    assert_eq!(bench.send(&search, all).len(), 0);
    assert_eq!(bench.send(&search, Source::multicast(address(8))).len(), 1, "another node");
    assert_eq!(bench.send(&search, unicast(9)).len(), 1, "to us alone");
    bench.wait(Duration::from_millis(100));
    assert_eq!(bench.send(&search, all).len(), 1, "asked again");
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let long = |epc| PropertyDescription::new(Epc(epc), vec![7; 200], Access::GET);
    let object =
        ObjectDescription::new(LIGHT).with(long(0xB0)).with(long(0xB1)).property(Epc(0xB2), [1], Access::GET);
    let mut device = Device::new(&Description::new(MAKER, [7; 13]).object(object)).unwrap();
    let request = hex("1081 0102 05FF01 029101 62 03 B000 B100 B200");
    let now = std::time::Instant::now();
    for (room, expected) in
        [(500, Some((419, 0x72))), (300, Some((219, 0x52))), (18, Some((18, 0x52))), (17, None)]
    {
        let mut out = vec![0; room];
        let transmit = device.handle(now, &request, unicast(9), &mut out);
        assert_eq!(transmit.map(|transmit| (transmit.bytes, out[10])), expected, "{room}");
    }
    assert_eq!(device.stats().dropped, 1);
}

/// A light with long values in all of its own properties, and a request for `epcs`.
fn long_values(esv: u8, epcs: &[u8]) -> (Device, Vec<u8>) {
    let long = |object: ObjectDescription, epc| {
        object.with(PropertyDescription::new(Epc(epc), vec![7; 255], Access::ALL))
    };
    let object = (0xB0..=0xEF).fold(ObjectDescription::new(LIGHT), long);
    let device = Device::new(&Description::new(MAKER, [7; 13]).object(object)).unwrap();
    let mut request = hex("1081 0102 05FF01 029101");
    request.extend([esv, epcs.len() as u8]);
    request.extend(epcs.iter().flat_map(|epc| [*epc, 0]));
    (device, request)
}

#[test]
fn answers_to_spoofed_sources_are_short() {
    const INF_REQ: u8 = 0x63;
    let repeated = [0xB0; 255];
    let different: Vec<u8> = (0xB0..=0xEF).collect();
    // The answers contain as many values as fit, and refuse the other properties.
    for (name, esv, epcs, values) in [
        ("one property, repeated", 0x62, &repeated[..], 1),
        ("one property, repeated, to all nodes", INF_REQ, &repeated[..], 1),
        ("different properties", 0x62, &different[..], 5),
        ("different properties, to all nodes", INF_REQ, &different[..], 5),
    ] {
        let (mut device, request) = long_values(esv, epcs);
        let mut out = vec![0; MESSAGE_BYTES_MAX];
        let now = std::time::Instant::now();
        let sent = device.handle(now, &request, unicast(9), &mut out).unwrap();
        assert!(sent.bytes <= 1452, "{name}: {} bytes", sent.bytes);
        let frame = Frame::parse(&out[..sent.bytes]).unwrap();
        assert!(frame.esv.is_refusal() && frame.properties.len() == epcs.len(), "{name}");
        let answered = frame.properties.iter().filter(|property| !property.edt.is_empty()).count();
        assert_eq!(answered, values, "{name}");
        // A TCP connection proves the source address, and has no datagrams.
        let connection = Source::connection(address(9), ConnectionId(1));
        let sent = device.handle(now, &request, connection, &mut out).unwrap();
        let expected = if values == 1 { 1 } else { epcs.len() };
        assert_eq!(sent.bytes, 12 + 2 * epcs.len() + 255 * expected, "{name}, over TCP");
    }
}

#[test]
fn a_long_write_is_executed_and_its_refusal_is_as_long() {
    let value = [8; 255];
    for (epcs, esv) in [([0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6], 0x71), ([0x99; 7], 0x51)] {
        let (mut device, mut request) = long_values(0x61, &[]);
        request[11] = epcs.len() as u8;
        request.extend(epcs.iter().flat_map(|epc| [&[*epc, 255][..], &value].concat()));
        let mut out = vec![0; MESSAGE_BYTES_MAX];
        let sent = device.handle(std::time::Instant::now(), &request, unicast(9), &mut out).unwrap();
        assert_eq!(out[10], esv);
        assert!(sent.bytes <= request.len());
    }
}

#[test]
fn requests_from_beyond_the_link_are_ignored() {
    let mut bench = Bench::new(&home());
    let from = Source { is_off_link: true, ..unicast(9) };
    for request in [
        "1081 0102 05FF01 029101 62 01 8000",
        "1081 0102 05FF01 029100 62 01 8000",
        "1081 0102 05FF01 029101 61 01 B00132",
        "1081 0102 05FF01 029101 60 01 B00132",
    ] {
        assert_eq!(bench.send(&hex(request), from), [""; 0], "{request}");
    }
    assert_eq!(bench.device.get(LIGHT, Epc(0xB0)), Some(&[100][..]));
    assert_eq!((bench.device.stats().off_link, bench.device.stats().requests), (4, 0));
    let abuse = DeviceEvent::Abuse { from: address(9), kind: AbuseKind::OffLink };
    assert_eq!((bench.device.poll_event(), bench.device.poll_event()), (Some(abuse), None), "once a second");
}

#[test]
fn abuse_is_reported_with_its_source() {
    let mut bench = Bench::new(&home());
    for _ in 0..3 {
        bench.device.handle_evicted(bench.now, address(7));
        bench.device.handle_limited(bench.now, address(6));
        (0..1000).for_each(|_| assert!(bench.send(&[0x10], unicast(8)).is_empty()));
        assert!(bench.send(&[0x10], unicast(9)).is_empty(), "an honest node makes a mistake");
    }
    let events: Vec<_> = std::iter::from_fn(|| bench.device.poll_event()).collect();
    let abuse = |last, kind| DeviceEvent::Abuse { from: address(last), kind };
    let expected = [(7, AbuseKind::Connections), (6, AbuseKind::Limited), (8, AbuseKind::Flood)];
    assert_eq!(events, expected.map(|(last, kind)| abuse(last, kind)));
    let stats = bench.device.stats();
    assert_eq!((stats.evicted, stats.limited, stats.malformed), (3, 3, 3003));
}

#[test]
fn malformed_datagrams_are_not_answered() {
    let mut bench = Bench::new(&home());
    let request = hex("1081 0102 05FF01 029101 62 01 8000");
    for round in 0..1000_u32 {
        for cut in 0..request.len() {
            let mut wrong = request[..cut].to_vec();
            wrong.extend(round.to_be_bytes().iter().take(cut % 3));
            if wrong.len() < request.len() {
                assert!(bench.send(&wrong, unicast(8)).is_empty());
            }
        }
        assert_eq!(bench.send(&request, unicast(9)).len(), 1);
    }
    assert_eq!(bench.device.stats().requests, 1000);
}

#[test]
fn state_created_by_peers_is_bounded() {
    let mut config = DeviceConfig::default();
    (config.max_waiting, config.max_events, config.max_shared) = (2, 5, 2);
    let mut device = Device::with_config(&home(), config).unwrap();
    let (now, mut out) = (std::time::Instant::now(), [0; 1500]);
    for tid in 0..100_u8 {
        let ask = [&[0x10, 0x81, 0, tid][..], &hex("05FF01 029101 61 01 B60142")].concat();
        let answer = device.handle(now, &ask, unicast(9), &mut out);
        // A write that cannot wait for a decision is refused at once.
        assert_eq!(answer.map(|_| out[10]), (tid >= 2).then_some(0x51), "{tid}");
        let all = [&[0x10, 0x81, 0, tid][..], &hex("05FF01 029100 60 01 B00142")].concat();
        assert!(device.handle(now, &all, unicast(9), &mut out).is_none());
    }
    assert_eq!(std::iter::from_fn(|| device.poll_event()).count(), 5);
    let sent = std::iter::from_fn(|| device.poll_transmit(now, &mut out)).count();
    assert_eq!(sent, 0, "writes without an answer");
    device.handle_timeout(now + Duration::from_secs(1));
    assert_eq!(std::iter::from_fn(|| device.poll_transmit(now, &mut out)).count(), 2);
    assert!(device.stats().dropped > 100);
}

#[test]
fn inconsistent_descriptions_are_rejected() {
    let node = || Description::new(MAKER, [7; 13]);
    let object = |eoj| ObjectDescription::new(Eoj(eoj));
    let light = || ObjectDescription::new(LIGHT);
    let mut twice = light().property(Epc(0x80), [1], Access::GET);
    twice.properties.push(twice.properties[0].clone());
    let mut no_profile = node();
    no_profile.profile.eoj = LIGHT;
    let rows = [
        (node().object(light()).object(light()), DescriptionError::TwoObjects(LIGHT)),
        (node().object(object([2, 0x91, 0])), DescriptionError::NoDevice(Eoj([2, 0x91, 0]))),
        (node().object(object([2, 0x91, 0x80])), DescriptionError::NoDevice(Eoj([2, 0x91, 0x80]))),
        (node().object(object([0x0E, 0xF0, 1])), DescriptionError::NoDevice(Eoj::NODE_PROFILE)),
        (no_profile, DescriptionError::NoProfile(LIGHT)),
        (node().object(twice), DescriptionError::TwoProperties(LIGHT, Epc(0x80))),
        (
            node().object(light().property(Epc(0x7F), [1], Access::GET)),
            DescriptionError::NoProperty(LIGHT, Epc(0x7F)),
        ),
        (
            node().object(light().property(Epc(0x9F), [1], Access::GET)),
            DescriptionError::Computed(LIGHT, Epc(0x9F)),
        ),
        (
            node().profile_property(PropertyDescription::new(Epc(0xD6), [1], Access::GET)),
            DescriptionError::Computed(Eoj::NODE_PROFILE, Epc(0xD6)),
        ),
        (
            node().object(light().property(Epc(0xB0), [0; 256], Access::GET)),
            DescriptionError::Length(LIGHT, Epc(0xB0)),
        ),
        (
            node().object(light().with(PropertyDescription::new(Epc(0xB0), [0], Access::GET).lengths(2..=3))),
            DescriptionError::Length(LIGHT, Epc(0xB0)),
        ),
        (crowd(1025), DescriptionError::TooMany { what: "objects", max: 1024 }),
    ];
    for (description, expected) in rows {
        assert_eq!(Device::new(&description).err(), Some(expected));
    }
}
