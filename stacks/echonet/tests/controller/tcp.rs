//! Requests over TCP: when connections are requested, and what happens to requests when one ends.

use netdyno_echonet_core::{
    ConnectionId, ControllerConfig, Eoj, Epc, MESSAGE_BYTES_MAX, NodeSettings, Property, Request,
    RequestError, RequestId, Source,
};

use crate::bench::{Bench, MS, format_events};
use crate::common::{LIGHT, address, hex, to_hex};

/// State of a script: node 9, the last TID and the last request.
struct Script {
    bench: Bench,
    tid: u16,
    last: Option<RequestId>,
}

impl Script {
    /// Executes one step and returns its effects: requested connections, sent messages, events.
    fn step(&mut self, what: &str) -> String {
        let bench = &mut self.bench;
        let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
        let connection = || ConnectionId(rest.trim_start_matches("tcp").parse().unwrap());
        let write = [Property { epc: Epc(0x80), edt: &[0x31] }];
        let mut ask = |request| {
            self.last = Some(bench.controller.request(bench.now, address(9), LIGHT, request).unwrap())
        };
        match verb {
            "get" => ask(Request::Get(&[Epc(0x80)])),
            "set-only" => ask(Request::SetOnly(&write)),
            "up" => bench.controller.handle_connected(bench.now, address(9), connection()),
            "down" => bench.controller.handle_disconnected(bench.now, address(9), Some(connection())),
            "refused" => bench.controller.handle_disconnected(bench.now, address(9), None),
            "wait" => bench.wait(rest.parse::<u32>().unwrap() * MS),
            "forget" => bench.controller.forget(address(9)),
            "cancel" => assert!(bench.controller.cancel(bench.now, self.last.unwrap())),
            "use" => {
                let mut settings: NodeSettings = bench.controller.config().defaults;
                settings.tcp = rest == "tcp";
                bench.controller.set_node_settings(address(9), settings).unwrap();
            }
            // The answer to the last request, on a connection or as a datagram.
            "answer" => {
                let from = match rest {
                    "udp" => Source::unicast(address(9)),
                    _ => Source::connection(address(9), connection()),
                };
                bench.receive(from, self.tid, LIGHT, "72 01 800130");
            }
            other => panic!("{other}"),
        }
        let mut effects = Vec::new();
        for (to, tid, _) in bench.sent() {
            // A retry has the same TID.
            effects.push(format!("{to}{}", if self.tid == tid { " again" } else { "" }));
            self.tid = tid;
        }
        while let Some(connect) = bench.controller.poll_connect() {
            assert_eq!(connect.within, bench.controller.config().defaults.timeout);
            effects.push(format!("connect {}", connect.node.to_string().replace("192.0.2.", "")));
        }
        effects.extend(format_events(bench));
        effects.join(", ")
    }
}

fn script(name: &str, change: impl FnOnce(&mut ControllerConfig), steps: &[(&str, &str)]) {
    let bench = Bench::new(|config| {
        (config.defaults.tcp, config.defaults.retries) = (true, 1);
        change(config);
    });
    let mut script = Script { bench, tid: 0, last: None };
    for (number, (what, expected)) in steps.iter().enumerate() {
        assert_eq!(script.step(what), *expected, "{name}: step {number}, {what}");
    }
    let retries: usize = steps.iter().map(|(_, seen)| seen.matches("again").count()).sum();
    assert_eq!(script.bench.controller.stats().retried, retries as u64, "{name}");
}

const FIRST: &str = "found 9, 9 80=30 |  | ";
const NEXT: &str = "9 80=30 |  | ";

#[test]
fn the_first_request_connects_and_others_wait() {
    script(
        "single connection for all",
        |_| {},
        &[
            ("get", "connect 9"),
            ("get", ""),
            ("wait 2999", ""),
            ("up 1", "tcp1"),
            // Answers on another transport are ignored.
            ("answer udp", ""),
            ("answer tcp2", ""),
            ("answer tcp1", "tcp1, found 9, 9 80=30 |  | "),
            ("answer tcp1", NEXT),
            ("get", "tcp1"),
            ("answer tcp1", NEXT),
        ],
    );
    script(
        "several requests at a time",
        |config| config.defaults.parallel = 2,
        &[("get", "connect 9"), ("get", ""), ("up 1", "tcp1, tcp1"), ("answer tcp1", FIRST)],
    );
    script(
        "a gap between two",
        |config| config.defaults.gap = 20 * MS,
        &[("get", "connect 9"), ("get", ""), ("up 1", "tcp1"), ("answer tcp1", FIRST), ("wait 20", "tcp1")],
    );
    script(
        "a write without an answer is over once it is sent",
        |_| {},
        &[("set-only", "connect 9"), ("up 1", "tcp1, 9  |  | "), ("set-only", "tcp1, 9  |  | ")],
    );
}

#[test]
fn lost_requests_are_sent_on_another_connection() {
    script(
        "between request and answer",
        |_| {},
        &[
            ("get", "connect 9"),
            ("up 1", "tcp1"),
            ("down 1", "connect 9"),
            ("up 2", "tcp2 again"),
            ("answer tcp1", ""),
            ("answer tcp2", FIRST),
        ],
    );
    script(
        "once too often",
        |_| {},
        &[
            ("get", "connect 9"),
            ("up 1", "tcp1"),
            ("down 1", "connect 9"),
            ("up 2", "tcp2 again"),
            ("get", ""),
            ("down 2", "connect 9, 9 Unreachable"),
            ("up 3", "tcp3"),
            ("answer tcp3", FIRST),
        ],
    );
    script(
        "a node that closes after each answer",
        |_| {},
        &[
            ("get", "connect 9"),
            ("up 1", "tcp1"),
            ("answer tcp1", FIRST),
            ("down 1", ""),
            ("get", "connect 9"),
            ("up 2", "tcp2"),
            ("answer tcp2", NEXT),
        ],
    );
    script(
        "no connection can be made",
        |config| config.lost_after = 1,
        &[
            ("get", "connect 9"),
            ("refused", "connect 9"),
            ("get", ""),
            ("refused", "connect 9, lost 9, 9 Unreachable"),
            ("up 1", "tcp1"),
            ("answer tcp1", "found 9, 9 80=30 |  | "),
        ],
    );
    script(
        "reports of connections that are not ours change nothing",
        |_| {},
        &[
            ("refused", ""),
            ("get", "connect 9"),
            ("down 7", ""),
            ("up 1", "tcp1"),
            ("up 2", ""),
            ("down 2", ""),
            ("refused", ""),
            ("answer tcp1", FIRST),
        ],
    );
}

#[test]
fn falls_back_to_datagrams_if_no_connection_can_be_made() {
    let fallback = |config: &mut ControllerConfig| config.defaults.udp_fallback = true;
    script(
        "all that waits, and what follows, for ten minutes",
        fallback,
        &[
            ("get", "connect 9"),
            ("get", ""),
            ("refused", "9"),
            ("wait 3000", "9 again"),
            ("answer udp", "9, found 9, 9 80=30 |  | "),
            ("answer udp", NEXT),
            ("set-only", "9, 9  |  | "),
            ("wait 596999", ""),
            ("get", "9"),
            ("answer udp", NEXT),
            ("wait 1", ""),
            ("get", "connect 9"),
            ("up 1", "tcp1"),
            ("answer tcp1", NEXT),
        ],
    );
    script(
        "after a connection that ended, and another that could not be made",
        fallback,
        &[
            ("get", "connect 9"),
            ("up 1", "tcp1"),
            ("down 1", "connect 9"),
            ("refused", "9 again"),
            ("answer udp", FIRST),
        ],
    );
    script(
        "not single that was lost with a connection once too often",
        |config| (config.defaults.udp_fallback, config.defaults.retries) = (true, 0),
        &[("get", "connect 9"), ("up 1", "tcp1"), ("down 1", "9 Unreachable")],
    );
    // Longer than any datagram.
    let mut bench = Bench::new(|config| (config.defaults.tcp, config.defaults.udp_fallback) = (true, true));
    let values = [Property { epc: Epc(0xF0), edt: &[7; 255] }; 9];
    let ask =
        |bench: &mut Bench| bench.controller.request(bench.now, address(9), LIGHT, Request::Set(&values));
    ask(&mut bench).unwrap();
    bench.out = vec![0; MESSAGE_BYTES_MAX];
    assert!(bench.sent().is_empty() && bench.controller.poll_connect().is_some());
    bench.controller.handle_disconnected(bench.now, address(9), None);
    assert!(bench.sent().is_empty());
    assert_eq!(format_events(&mut bench), ["9 TooLong"]);
    assert_eq!(ask(&mut bench), Err(RequestError::TooLong));
}

#[test]
fn a_live_connection_has_no_retries() {
    script(
        "a silent node",
        |_| {},
        &[
            ("get", "connect 9"),
            ("up 1", "tcp1"),
            ("wait 2999", ""),
            ("wait 1", "9 Timeout"),
            ("answer tcp1", ""),
            ("get", "tcp1"),
            ("answer tcp1", FIRST),
        ],
    );
    script(
        "while there is no connection, the caller keeps the time",
        |_| {},
        &[("get", "connect 9"), ("wait 9999", ""), ("refused", "connect 9"), ("refused", "9 Unreachable")],
    );
}

#[test]
fn requests_that_end_while_a_connection_is_made() {
    script(
        "cancelled",
        |_| {},
        &[("get", "connect 9"), ("cancel", "9 Cancelled"), ("up 1", ""), ("get", "tcp1")],
    );
    script(
        "forgotten",
        |_| {},
        &[("get", "connect 9"), ("forget", "9 Cancelled"), ("up 1", ""), ("get", "connect 9")],
    );
    script(
        "by datagram after all",
        |_| {},
        &[("get", "connect 9"), ("use udp", ""), ("refused", "9"), ("answer udp", FIRST)],
    );
    script(
        "by connection after all",
        |config| config.defaults.tcp = false,
        &[("get", "9"), ("use tcp", ""), ("wait 3000", "connect 9"), ("refused", "9 Unreachable")],
    );
    // The node is removed before the caller polls for the connection.
    let mut bench = Bench::new(|config| config.defaults.tcp = true);
    for _ in 0..2 {
        bench.get(9, &[0x80]);
        assert!(bench.sent().is_empty());
        bench.controller.forget(address(9));
    }
    assert_eq!(bench.controller.poll_connect(), None);
}

#[test]
fn concurrent_connection_attempts_are_limited() {
    let mut bench = Bench::new(|config| (config.defaults.tcp, config.limits.max_in_flight) = (true, 2));
    for node in 1..=3 {
        bench.get(node, &[0x80]);
    }
    assert!(bench.sent().is_empty());
    let requested: Vec<_> = std::iter::from_fn(|| bench.controller.poll_connect()).collect();
    assert_eq!(requested.iter().map(|connect| connect.node).collect::<Vec<_>>(), [address(1), address(2)]);
    bench.controller.handle_connected(bench.now, address(1), ConnectionId(1));
    let (tid, _) = bench.single();
    bench.receive(Source::connection(address(1), ConnectionId(1)), tid, LIGHT, "72 01 800130");
    assert!(bench.sent().is_empty());
    assert_eq!(bench.controller.poll_connect().map(|connect| connect.node), Some(address(3)));
}

#[test]
fn a_long_request_needs_tcp() {
    let values = [Property { epc: Epc(0xF0), edt: &[7; 255] }; 255];
    let all = Request::SetGet { set: &values, get: &[Epc(0x80); 255] };
    let mut bench = Bench::new(|_| {});
    let ask = |bench: &mut Bench| bench.controller.request(bench.now, address(9), LIGHT, all);
    assert_eq!(ask(&mut bench), Err(RequestError::TooLong));
    let mut settings = NodeSettings::default();
    settings.tcp = true;
    bench.controller.set_node_settings(address(9), settings).unwrap();
    ask(&mut bench).unwrap();
    bench.out = vec![0; MESSAGE_BYTES_MAX];
    assert!(bench.sent().is_empty() && bench.controller.poll_connect().is_some());
    bench.controller.handle_connected(bench.now, address(9), ConnectionId(1));
    assert_eq!(bench.single().1.len() / 2, 1 + 3 + 1 + 255 * 257 + 1 + 255 * 2);
}

#[test]
fn requests_on_a_connection_are_answered_on_it() {
    let mut bench = Bench::new(|_| {});
    let from = Source::connection(address(9), ConnectionId(5));
    let ask = hex("1081 0102 029101 0EF001 62 01 D600");
    let answer = bench.controller.handle(bench.now, &ask, from, &mut bench.out).unwrap();
    assert_eq!(answer.to, from.reply());
    assert_eq!(to_hex(&bench.out[..answer.bytes]), "108101020EF0010291017201D6040105FF01");
    // Its notification is reported, and acknowledged if required.
    assert!(bench.receive(from, 6, LIGHT, "74 01 800131").is_some());
    assert_eq!(format_events(&mut bench), ["found 9", "pushed 9 029101 80=31"]);
    assert_eq!(bench.single().1, to_hex(&[&Eoj::NODE_PROFILE.0[..], &hex("62 01 D600")].concat()));
}
