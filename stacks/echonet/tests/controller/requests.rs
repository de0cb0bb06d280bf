//! Requests, their answers, and their timing.

use std::io::ErrorKind;

use netdyno_echonet_core::{Destination, Eoj, Epc, NodeSettings, Property, Request, RequestError};

use crate::bench::{Bench, MS, format_events};
use crate::common::{LIGHT, address, hex, to_hex, unicast};

/// A request, its frame, the node's answer, and the application's event.
#[test]
fn requests_and_their_answers() {
    let set = |epc, edt: &'static [u8]| Property { epc: Epc(epc), edt };
    let writes = [set(0x80, &[0x31]), set(0xB0, &[1])];
    let reads = [Epc(0x80), Epc(0xB0)];
    let both = Request::SetGet { set: &writes, get: &reads };
    let rows: &[(&str, Request<'_>, &str, &str, &str)] = &[
        ("Get", Request::Get(&reads[..1]), "62 01 8000", "72 01 800130", "9 80=30 |  | "),
        ("single refused", Request::Get(&reads[..1]), "62 01 8000", "52 01 8000", "9  | 80 | "),
        ("another property", Request::Get(&reads[..1]), "62 01 8000", "72 01 B00101", "9  | 80 | "),
        ("an empty value", Request::Get(&reads[..1]), "62 01 8000", "72 01 8000", "9 80= |  | "),
        ("more than asked", Request::Get(&reads[..1]), "62 01 8000", "72 02 800130B00101", "9 80=30 |  | "),
        ("Set", Request::Set(&writes), "61 02 800131 B00101", "71 02 8000 B000", "9  |  | "),
        ("Set in part", Request::Set(&writes), "61 02 800131 B00101", "51 02 8000 B00101", "9  |  | B0"),
        (
            "a refusal that names nothing",
            Request::Set(&writes),
            "61 02 800131 B00101",
            "51 02 8000 B000",
            "9  |  | 80 B0",
        ),
        (
            "SetGet",
            both,
            "6E 02 800131 B00101 02 8000 B000",
            "7E 02 8000 B000 02 800131 B00101",
            "9 80=31 B0=01 |  | ",
        ),
        (
            "SetGet in part",
            both,
            "6E 02 800131 B00101 02 8000 B000",
            "5E 02 8000 B00101 02 800131 B000",
            "9 80=31 | B0 | B0",
        ),
        ("INF_REQ", Request::Notify(&reads), "63 02 8000 B000", "73 02 800130 B00105", "9 80=30 B0=05 |  | "),
        (
            "INF_REQ in part",
            Request::Notify(&reads),
            "63 02 8000 B000",
            "53 02 800130 B000",
            "9 80=30 | B0 | ",
        ),
    ];
    for (name, request, frame, answer, expected) in rows {
        let mut bench = Bench::new(|_| {});
        bench.controller.request(bench.now, address(9), LIGHT, *request).unwrap();
        let (tid, bytes) = bench.single();
        assert_eq!(bytes, to_hex(&hex(&format!("029101 {frame}"))), "{name}");
        assert_eq!(bench.receive(unicast(9), tid, LIGHT, answer), None);
        assert_eq!(format_events(&mut bench), ["found 9", expected], "{name}");
        assert_eq!(bench.controller.next_deadline(), None, "{name}");
    }
}

#[test]
fn invalid_requests_are_rejected() {
    let mut bench = Bench::new(|config| config.limits.max_datagram_bytes = 100);
    let long = [Property { epc: Epc(0x80), edt: &[0; 90] }];
    let all = Eoj([2, 0x91, 0]);
    let rows = [
        (LIGHT, Request::Get(&[]), RequestError::Empty),
        (LIGHT, Request::Set(&[]), RequestError::Empty),
        (LIGHT, Request::SetGet { set: &[], get: &[] }, RequestError::Empty),
        (LIGHT, Request::Get(&[Epc(0x80); 50]), RequestError::TooLong),
        (LIGHT, Request::Set(&long), RequestError::TooLong),
        (all, Request::Get(&[Epc(0x80)]), RequestError::AllInstances(all)),
    ];
    for (eoj, request, expected) in rows {
        assert_eq!(bench.controller.request(bench.now, address(9), eoj, request), Err(expected));
    }
    assert_eq!(bench.controller.nodes().count(), 0, "an invalid request adds no node");
}

#[test]
fn a_write_without_an_answer_completes_when_sent() {
    let mut bench = Bench::new(|_| {});
    let write = [Property { epc: Epc(0x80), edt: &[0x31] }];
    bench.controller.request(bench.now, address(9), Eoj([2, 0x91, 0]), Request::SetOnly(&write)).unwrap();
    assert_eq!(bench.single().1, "0291006001800131");
    assert_eq!(format_events(&mut bench), ["9  |  | "]);
}

#[test]
fn unexpected_answers_are_ignored() {
    let mut bench = Bench::new(|_| {});
    bench.get(9, &[0x80]);
    let (tid, _) = bench.single();
    let answer = "72 01 800130";
    bench.receive(unicast(8), tid, LIGHT, answer);
    bench.receive(unicast(9), tid + 1, LIGHT, answer);
    bench.receive(unicast(9), tid, Eoj([2, 0x91, 2]), answer);
    bench.receive(unicast(9), tid, LIGHT, "71 01 8000");
    bench.receive(unicast(9), tid, LIGHT, "7E 01 8000 00");
    assert_eq!((bench.controller.stats().unexpected, format_events(&mut bench).len()), (5, 0));
    bench.receive(unicast(9), tid, LIGHT, answer);
    assert_eq!(format_events(&mut bench), ["found 9", "9 80=30 |  | "]);
    // The same answer on another interface.
    bench.receive(unicast(9), tid, LIGHT, answer);
    assert_eq!((bench.controller.stats().unexpected, format_events(&mut bench).len()), (6, 0));
}

#[test]
fn retries_use_the_same_tid() {
    let mut bench = Bench::new(|_| {});
    bench.get(9, &[0x80]);
    bench.get(9, &[0x81]);
    let first = bench.single();
    for _ in 0..2 {
        bench.wait(2999 * MS);
        assert!(bench.sent().is_empty());
        bench.wait(MS);
        assert_eq!(bench.single(), first);
    }
    bench.wait(3000 * MS);
    assert_eq!(format_events(&mut bench), ["9 Timeout"]);
    // The late answer is ignored; the next request is in progress.
    let (tid, bytes) = bench.single();
    assert_eq!(bytes, "02910162018100");
    bench.receive(unicast(9), first.0, LIGHT, "72 01 800130");
    assert_eq!(bench.controller.stats().unexpected, 1);
    // An answer to the first of two transmissions counts.
    bench.wait(3000 * MS);
    bench.receive(unicast(9), tid, LIGHT, "72 01 810108");
    assert_eq!(format_events(&mut bench), ["found 9", "9 81=08 |  | "]);
    let stats = bench.controller.stats();
    assert_eq!((stats.sent, stats.retried, stats.timeouts, stats.answered), (4, 2, 1, 1));
    assert!(bench.sent().is_empty(), "the answer cancels the pending retry");
}

#[test]
fn a_node_has_one_request_at_a_time_and_a_pause_between() {
    let mut bench = Bench::new(|config| config.limits.max_in_flight = 3);
    for epc in [0x80, 0x81, 0x82] {
        for node in [7, 8] {
            bench.get(node, &[epc]);
        }
    }
    let sent = bench.sent();
    assert_eq!(sent.iter().map(|(to, ..)| &to[..]).collect::<Vec<_>>(), ["7", "8"]);
    let mut settings = NodeSettings::default();
    (settings.gap, settings.parallel) = (50 * MS, 2);
    bench.controller.set_node_settings(address(7), settings).unwrap();
    bench.receive(unicast(7), sent[0].1, LIGHT, "72 01 800130");
    // The pause starts at the next datagram; then three are in progress.
    let (tid, bytes) = bench.single();
    assert_eq!(bytes, "02910162018100");
    assert_eq!(bench.controller.next_deadline(), Some(bench.now + 50 * MS));
    bench.wait(50 * MS);
    assert_eq!(bench.single().1, "02910162018200");
    bench.get(6, &[0x80]);
    assert!(bench.sent().is_empty(), "three are enough");
    bench.receive(unicast(7), tid, LIGHT, "52 01 8100");
    assert_eq!(bench.single().1, "02910162018000");
    assert_eq!(bench.controller.stats().answered, 2);
}

#[test]
fn nodes_share_the_limit_on_requests_fairly() {
    let mut bench = Bench::new(|config| config.limits.max_in_flight = 1);
    for node in [7, 7, 7, 5] {
        bench.get(node, &[0x80]);
    }
    let request = Request::Get(&[Epc(0x80)]);
    let cancelled = bench.controller.request(bench.now, address(6), LIGHT, request).unwrap();
    bench.get(8, &[0x80]);
    let mut served = Vec::new();
    for round in 0..5 {
        let sent = bench.sent();
        assert_eq!(sent.len(), 1, "round {round}");
        let node: u8 = sent[0].0.parse().unwrap();
        served.push(node);
        if round == 1 {
            // It waits in the queue; cancelling it does not affect the others.
            assert!(bench.controller.cancel(bench.now, cancelled));
        }
        bench.receive(unicast(node), sent[0].1, LIGHT, "72 01 800130");
    }
    assert_eq!(served, [7, 5, 8, 7, 7]);
    assert!(bench.sent().is_empty());
}

#[test]
fn unsent_requests_end_with_the_cause() {
    let unreachable = |bench: &mut Bench| {
        let sent = bench.controller.poll_transmit(bench.now, &mut bench.out);
        bench.controller.handle_unsent(bench.now, ErrorKind::NetworkUnreachable);
        sent.is_some()
    };
    let mut bench = Bench::new(|config| config.lost_after = 2);
    let write = [Property { epc: Epc(0x80), edt: &[0x31] }];
    for node in [8, 9, 9] {
        bench.get(node, &[0x80]);
    }
    bench.controller.request(bench.now, address(9), LIGHT, Request::SetOnly(&write)).unwrap();
    // A sent request is not affected.
    let first = bench.controller.poll_transmit(bench.now, &mut bench.out).unwrap();
    assert_eq!(first.to, Destination::Node(address(8)));
    while unreachable(&mut bench) {}
    let told = format_events(&mut bench);
    let unsent = "9 Unsent(NetworkUnreachable)";
    assert_eq!(told, [unsent, "lost 9", unsent, unsent]);
    assert_eq!((bench.controller.stats().unsent, bench.controller.stats().timeouts), (4, 0));
    assert_eq!(bench.controller.next_deadline(), Some(bench.now + 3000 * MS));
    // A search belongs to no request.
    bench.controller.search(bench.now);
    assert!(unreachable(&mut bench) && bench.events().is_empty());
    // Nor does an answer of our own node, even after a request was sent.
    bench.get(7, &[0x80]);
    assert!(bench.controller.poll_transmit(bench.now, &mut bench.out).is_some());
    let asked = hex("1081 0001 029101 05FF01 62 01 8000");
    let answer = bench.controller.handle(bench.now, &asked, unicast(8), &mut bench.out);
    assert!(answer.is_some());
    bench.controller.handle_unsent(bench.now, ErrorKind::NetworkUnreachable);
    assert!(bench.events().is_empty());
}
