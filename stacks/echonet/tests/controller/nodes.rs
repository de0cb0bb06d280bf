//! Discovery, notifications, interviews and loss of nodes.

use netdyno_echonet_core::{Destination, Eoj, Epc, NodeState, Search, Source};

use crate::bench::{Bench, MS, format_events};
use crate::common::{LIGHT, address, hex, to_hex, unicast};

#[test]
fn a_search_finds_nodes_once() {
    let mut bench = Bench::new(|config| config.search = Search::Both);
    bench.controller.search(bench.now);
    let sent = bench.sent();
    let (tid, asked): (u16, Vec<_>) =
        (sent[0].1, sent.iter().map(|(to, _, rest)| (&to[..], &rest[..])).collect());
    assert_eq!(asked, [("all", "0EF0016301D500"), ("all", "0EF0016201D600")]);
    for node in [7, 8] {
        bench.receive(unicast(node), tid, Eoj::NODE_PROFILE, "72 01 D607 02 029101 013001");
        bench.receive(unicast(node), tid, Eoj::NODE_PROFILE, "72 01 D607 02 029101 013001");
    }
    bench.receive(unicast(6), tid + 9, Eoj::NODE_PROFILE, "72 01 D604 01 029101");
    assert_eq!(format_events(&mut bench), ["found 7", "found 8"]);
    let instances = bench.controller.node(address(7)).unwrap().instances();
    assert_eq!(
        instances.iter().map(|instance| instance.eoj.to_string()).collect::<Vec<_>>(),
        ["013001", "029101"]
    );
    assert_eq!(bench.controller.next_deadline(), Some(bench.now + 1000 * MS));
    for _ in 0..2 {
        bench.wait(1000 * MS);
        assert_eq!(bench.sent().len(), 2);
    }
    assert_eq!(bench.controller.next_deadline(), None);
    // A late answer with one instance fewer.
    bench.receive(unicast(7), tid, Eoj::NODE_PROFILE, "72 01 D604 01 029101");
    assert_eq!(format_events(&mut bench), ["found 7"]);
    assert_eq!(bench.controller.nodes().map(|(_, node)| node.instances().len()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_search_finds_what_notifications_did_not_reveal() {
    let mut bench = Bench::new(|config| (config.learn, config.search) = (false, Search::Notify));
    let (all, told) = (Source::multicast(address(9)), "73 01 D504 01 029101");
    bench.receive(all, 77, Eoj::NODE_PROFILE, told);
    assert_eq!(format_events(&mut bench), ["pushed 9 0EF001 D5=01029101"]);
    bench.controller.search(bench.now);
    let (tid, asked) = bench.single();
    assert_eq!(asked, "0EF0016301D500");
    bench.receive(all, tid, Eoj::NODE_PROFILE, told);
    assert_eq!(format_events(&mut bench), ["found 9", "pushed 9 0EF001 D5=01029101"]);
}

#[test]
fn notifications() {
    let mut bench = Bench::new(|_| {});
    let all = Source::multicast(address(9));
    bench.receive(all, 0, Eoj::NODE_PROFILE, "73 01 D504 01 029101");
    assert_eq!(format_events(&mut bench), ["found 9", "pushed 9 0EF001 D5=01029101"]);
    bench.receive(all, 0, LIGHT, "73 02 800131 B00164");
    bench.receive(all, 0, LIGHT, "73 02 800131 B00164");
    assert_eq!(format_events(&mut bench), ["pushed 9 029101 80=31", "pushed 9 029101 B0=64"]);
    bench.wait(500 * MS);
    bench.receive(all, 0, LIGHT, "73 02 800131 B00164");
    assert_eq!((format_events(&mut bench).len(), bench.controller.stats().duplicates), (2, 1));
    // Each INFC is acknowledged, even a duplicate, and is reported once.
    for _ in 0..2 {
        let answer = bench.receive(unicast(9), 5, LIGHT, "74 01 800130");
        assert_eq!(answer.as_deref(), Some("1081000505FF010291017A018000"));
    }
    assert_eq!(format_events(&mut bench), ["pushed 9 029101 80=30"]);
    // By multicast: the sender receives the acknowledgement.
    assert!(bench.receive(Source::multicast(address(9)), 6, LIGHT, "74 01 800131").is_some());
    assert_eq!(format_events(&mut bench), ["pushed 9 029101 80=31"]);
    // To an object that this node does not have.
    let wrong = hex("1081 0007 029101 0EF002 74 01 800130");
    assert_eq!(bench.controller.handle(bench.now, &wrong, unicast(9), &mut bench.out), None);
    assert!(format_events(&mut bench).is_empty());
    // Fewer instances than before: the list is read again.
    bench.receive(all, 1, Eoj::NODE_PROFILE, "73 01 D50A 03 029101 029102 029103");
    bench.receive(all, 2, Eoj::NODE_PROFILE, "73 01 D504 01 029101");
    let (tid, asked) = bench.single();
    assert_eq!(asked, "0EF0016201D600");
    bench.receive(unicast(9), tid, Eoj::NODE_PROFILE, "72 01 D604 01 029101");
    assert_eq!(bench.controller.node(address(9)).unwrap().instances().len(), 1);
    // An unknown node is asked for its instances.
    bench.events();
    bench.receive(Source::multicast(address(4)), 0, LIGHT, "73 01 800131");
    assert_eq!(format_events(&mut bench), ["found 4", "pushed 4 029101 80=31"]);
    assert_eq!(bench.single().1, "0EF0016201D600");
}

#[test]
fn own_messages_are_ignored() {
    let mut bench = Bench::new(|config| config.own_addresses = vec![address(1)]);
    bench.receive(Source::multicast(address(1)), 0, Eoj::NODE_PROFILE, "73 01 D504 01 05FF01");
    assert_eq!((bench.controller.nodes().count(), bench.events().len()), (0, 0));
}

#[test]
fn a_controller_is_a_node_too() {
    let mut bench = Bench::new(|_| {});
    let ask = hex("1081 0102 029101 0EF001 62 01 D600");
    let answer = bench.controller.handle(bench.now, &ask, unicast(9), &mut bench.out).unwrap();
    assert_eq!(to_hex(&bench.out[..answer.bytes]), "108101020EF0010291017201D6040105FF01");
    bench.controller.own_mut().announce();
    let sent = bench.controller.poll_transmit(bench.now, &mut bench.out).unwrap();
    assert_eq!(
        (sent.to, to_hex(&bench.out[..sent.bytes])),
        (Destination::Multicast, "108100010EF0010EF0017301D5040105FF01".into())
    );
}

#[test]
fn an_interview_reads_profile_and_maps() {
    let mut bench = Bench::new(|config| config.interview = true);
    bench.receive(Source::multicast(address(9)), 0, Eoj::NODE_PROFILE, "73 01 D507 02 029101 013001");
    let rows = [
        (
            "0EF001 62 06 8200 8300 8A00 9D00 9E00 9F00",
            Eoj::NODE_PROFILE,
            "72 06 8204 010D0100 8302 FE01 8A03 000006 9D0180 9E0100 9F03 02 8082",
        ),
        ("013001 62 03 9D00 9E00 9F00", Eoj([1, 0x30, 1]), "72 03 9D02 0180 9E02 01B0 9F03 02 80B0"),
        // This node refuses three properties at a time.
        ("029101 62 03 9D00 9E00 9F00", LIGHT, "52 03 9D00 9E00 9F00"),
        ("029101 62 02 9D00 9E00", LIGHT, "72 02 9D0100 9E0100"),
        ("029101 62 01 9F00", LIGHT, "72 01 9F02 0180"),
    ];
    for (asked, seoj, answer) in rows {
        let (tid, bytes) = bench.single();
        assert_eq!(bytes, to_hex(&hex(asked)));
        bench.receive(unicast(9), tid, seoj, answer);
    }
    assert_eq!(format_events(&mut bench), ["found 9", "pushed 9 0EF001 D5=02029101013001", "interviewed 9"]);
    let node = bench.controller.node(address(9)).unwrap();
    assert_eq!((node.version(), node.manufacturer()), (Some([1, 13, 1, 0]), Some([0, 0, 6])));
    assert_eq!(node.identification(), Some(&[0xFE, 1][..]));
    let map = |eoj: Eoj| node.instance(eoj).unwrap().get.map(|map| map.iter().collect::<Vec<_>>());
    assert_eq!(map(Eoj::NODE_PROFILE), Some(vec![Epc(0x80), Epc(0x82)]));
    assert_eq!(map(Eoj([1, 0x30, 1])), Some(vec![Epc(0x80), Epc(0xB0)]));
    assert_eq!(map(LIGHT), Some(vec![Epc(0x80)]));
    assert_eq!(
        bench.controller.node(address(9)).unwrap().instance(LIGHT).unwrap().set.map(|map| map.len()),
        Some(0)
    );
}

#[test]
fn an_interview_of_a_silent_node_ends() {
    let mut bench = Bench::new(|config| config.defaults.retries = 0);
    bench.controller.interview(bench.now, address(9)).unwrap();
    assert_eq!(bench.single().1, "0EF0016201D600");
    bench.wait(3000 * MS);
    assert_eq!(bench.sent().len(), 1, "the profile");
    bench.wait(3000 * MS);
    assert_eq!(bench.sent(), []);
    assert_eq!(format_events(&mut bench), ["interviewed 9"]);
}

#[test]
fn a_node_is_lost_and_found() {
    let mut bench = Bench::new(|config| (config.defaults.retries, config.lost_after) = (0, 2));
    bench.receive(Source::multicast(address(9)), 0, Eoj::NODE_PROFILE, "73 01 D504 01 029101");
    bench.events();
    for expected in [&["9 Timeout"][..], &["lost 9", "9 Timeout"], &["9 Timeout"]] {
        bench.get(9, &[0x80]);
        bench.sent();
        bench.wait(3000 * MS);
        assert_eq!(format_events(&mut bench), expected);
    }
    assert_eq!(bench.controller.node(address(9)).unwrap().state(), NodeState::Lost);
    bench.receive(Source::multicast(address(9)), 0, LIGHT, "73 01 800130");
    assert_eq!(format_events(&mut bench), ["found 9", "pushed 9 029101 80=30"]);
    assert_eq!(bench.controller.node(address(9)).unwrap().state(), NodeState::Present);
}
