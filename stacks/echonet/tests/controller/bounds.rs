//! Limits of a controller.

use netdyno_echonet_core::{AnswerError, ControllerEvent, Eoj, Epc, Request, RequestError, Source};

use crate::bench::{Bench, MS, format_events};
use crate::common::{LIGHT, address, unicast};

#[test]
fn requests_are_cancelled_and_nodes_forgotten() {
    let mut bench = Bench::new(|_| {});
    let request = |bench: &mut Bench| {
        bench.controller.request(bench.now, address(9), LIGHT, Request::Get(&[Epc(0x80)])).unwrap()
    };
    let (first, second) = (request(&mut bench), request(&mut bench));
    bench.sent();
    assert!(bench.controller.cancel(bench.now, second));
    assert!(bench.controller.cancel(bench.now, first));
    assert!(!bench.controller.cancel(bench.now, first));
    assert_eq!(format_events(&mut bench), ["9 Cancelled", "9 Cancelled"]);
    request(&mut bench);
    request(&mut bench);
    bench.sent();
    bench.controller.forget(address(9));
    assert_eq!(format_events(&mut bench), ["9 Cancelled", "9 Cancelled"]);
    assert_eq!((bench.controller.nodes().count(), bench.controller.next_deadline()), (0, None));
    let third = request(&mut bench);
    assert!(!bench.controller.cancel(bench.now, second) && bench.controller.cancel(bench.now, third));
}

#[test]
fn state_created_by_peers_is_bounded() {
    let mut bench = Bench::new(|config| {
        config.limits.max_nodes = 10;
        config.limits.max_instances = 3;
        config.limits.max_requests = 5;
        config.limits.max_events = 20;
        config.limits.max_answer_bytes = 10;
        config.defaults.retries = 0;
        config.lost_after = 1;
    });
    for tid in 0..50 {
        for node in 0..100 {
            let all = Source::multicast(address(node));
            bench.receive(all, tid, Eoj::NODE_PROFILE, "73 01 D50D 04 029101 029102 029103 029104");
        }
        bench.sent();
        bench.wait(3000 * MS);
    }
    assert_eq!(bench.controller.nodes().count(), 10);
    assert!(bench.controller.nodes().all(|(_, node)| node.instances().len() == 3));
    assert_eq!(bench.events().len(), 20);
    for _ in 0..5 {
        bench.get(0, &[0x80]);
    }
    let full = bench.controller.request(bench.now, address(1), LIGHT, Request::Get(&[Epc(0x80)]));
    assert_eq!(full, Err(RequestError::QueueFull));
    // Their answers are kept, although the event queue is full.
    for _ in 0..5 {
        let (tid, _) = bench.single();
        bench.receive(unicast(0), tid, LIGHT, "72 01 8008 0102030405060708");
    }
    let answers = bench.events();
    assert!(
        answers.len() == 5
            && answers.iter().all(|event| matches!(event, ControllerEvent::Answer { result: Ok(_), .. }))
    );
    bench.get(0, &[0x80, 0x81]);
    let (tid, _) = bench.single();
    bench.receive(unicast(0), tid, LIGHT, "72 02 8008 0102030405060708 810101");
    assert!(matches!(
        bench.events()[..],
        [ControllerEvent::Answer { result: Err(AnswerError::TooLong), .. }]
    ));
    // A lost node is evicted for a new one.
    let request = Request::Get(&[Epc(0x80)]);
    assert_eq!(
        bench.controller.request(bench.now, address(200), LIGHT, request),
        Err(RequestError::TooManyNodes)
    );
    bench.get(3, &[0x80]);
    bench.sent();
    bench.wait(3000 * MS);
    assert!(bench.controller.request(bench.now, address(200), LIGHT, request).is_ok());
    assert!(bench.controller.node(address(3)).is_none());
}

#[test]
fn malformed_datagrams_change_nothing() {
    let mut bench = Bench::new(|_| {});
    bench.get(9, &[0x80]);
    let (tid, _) = bench.single();
    for node in 0..=255 {
        for junk in ["", "62", "72 01", "72 02 800130", "6E 00", "FF 01 8000"] {
            bench.receive(unicast(node), tid, LIGHT, junk);
        }
    }
    assert_eq!((bench.controller.stats().malformed, bench.controller.nodes().count()), (256 * 6, 1));
    bench.receive(unicast(9), tid, LIGHT, "72 01 800130");
    assert_eq!(format_events(&mut bench).len(), 2);
}
