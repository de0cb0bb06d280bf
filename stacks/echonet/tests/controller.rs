//! A controller against nodes that the test plays itself, datagram by datagram.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod common;

use std::time::{Duration, Instant};

use common::{LIGHT, MAKER, address, hex, to_hex, unicast};
use netdyno_echonet_core::{
    AnswerError, Controller, ControllerConfig, ControllerEvent, Destination, Eoj, Epc, Esv, Frame,
    FrameWriter, Header, NodeSettings, NodeState, Property, Request, RequestError, Search, Source,
};

const MS: Duration = Duration::from_millis(1);

struct Bench {
    controller: Controller,
    now: Instant,
    out: Vec<u8>,
}

impl Bench {
    fn new(change: impl FnOnce(&mut ControllerConfig)) -> Self {
        let mut config = ControllerConfig::new(MAKER, *b"a unique numb");
        change(&mut config);
        Self { controller: Controller::new(config).unwrap(), now: Instant::now(), out: vec![0; 1500] }
    }

    /// What is to be sent now: last byte of the address (or `all`), TID, then DEOJ and all that follows.
    fn sent(&mut self) -> Vec<(String, u16, String)> {
        let mut sent = Vec::new();
        while let Some(transmit) = self.controller.poll_transmit(self.now, &mut self.out) {
            let bytes = &self.out[..transmit.bytes];
            let to = match transmit.to {
                Destination::Multicast => "all".to_owned(),
                Destination::Node(node) => node.to_string().rsplit('.').next().unwrap().to_owned(),
            };
            assert_eq!(bytes[4..7], Eoj::CONTROLLER.0);
            sent.push((to, u16::from_be_bytes([bytes[2], bytes[3]]), to_hex(&bytes[7..])));
        }
        sent
    }

    /// The one datagram that is to be sent: its TID, and DEOJ and all that follows.
    fn one(&mut self) -> (u16, String) {
        let sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        (sent[0].1, sent[0].2.clone())
    }

    /// A datagram from a node: TID, SEOJ, then ESV and all that follows, to our controller.
    fn receive(&mut self, from: Source, tid: u16, seoj: Eoj, rest: &str) -> Option<String> {
        let datagram =
            [&[0x10, 0x81], &tid.to_be_bytes()[..], &seoj.0, &Eoj::CONTROLLER.0, &hex(rest)].concat();
        let answer = self.controller.handle(self.now, &datagram, from, &mut self.out);
        answer.map(|transmit| to_hex(&self.out[..transmit.bytes]))
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.controller.handle_timeout(self.now);
    }

    fn events(&mut self) -> Vec<ControllerEvent> {
        std::iter::from_fn(|| self.controller.poll_event()).collect()
    }

    fn get(&mut self, node: u8, epcs: &[u8]) {
        let epcs: Vec<Epc> = epcs.iter().copied().map(Epc).collect();
        self.controller.request(self.now, address(node), LIGHT, Request::Get(&epcs)).unwrap();
    }
}

/// Answers as text: values, then what was refused, then refused writes.
fn shown(event: &ControllerEvent) -> String {
    let list = |codes: &[Epc]| codes.iter().map(Epc::to_string).collect::<Vec<_>>().join(" ");
    match event {
        ControllerEvent::Answer { node, result: Ok(answer), .. } => {
            let values: Vec<String> = answer
                .properties()
                .map(|property| format!("{}={}", property.epc, to_hex(property.edt)))
                .collect();
            let refused = [list(answer.refused()), list(answer.refused_writes())];
            assert_eq!(answer.is_complete(), refused.iter().all(String::is_empty));
            format!("{node} {} | {} | {}", values.join(" "), refused[0], refused[1])
        }
        ControllerEvent::Answer { node, result: Err(error), .. } => format!("{node} {error:?}"),
        ControllerEvent::Pushed { node, eoj, epc, value } => {
            format!("pushed {node} {eoj} {epc}={}", to_hex(value))
        }
        ControllerEvent::Found(node) => format!("found {node}"),
        ControllerEvent::Lost(node) => format!("lost {node}"),
        ControllerEvent::Interviewed(node) => format!("interviewed {node}"),
        other => panic!("{other:?}"),
    }
    .replace("192.0.2.", "")
}

fn shown_all(bench: &mut Bench) -> Vec<String> {
    bench.events().iter().map(shown).collect()
}

/// One request, its frame, the node's answer, and what the application hears.
#[test]
fn requests_and_their_answers() {
    let set = |epc, edt: &'static [u8]| Property { epc: Epc(epc), edt };
    let writes = [set(0x80, &[0x31]), set(0xB0, &[1])];
    let reads = [Epc(0x80), Epc(0xB0)];
    let both = Request::SetGet { set: &writes, get: &reads };
    let rows: &[(&str, Request<'_>, &str, &str, &str)] = &[
        ("Get", Request::Get(&reads[..1]), "62 01 8000", "72 01 800130", "9 80=30 |  | "),
        ("one refused", Request::Get(&reads[..1]), "62 01 8000", "52 01 8000", "9  | 80 | "),
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
        let (tid, bytes) = bench.one();
        assert_eq!(bytes, to_hex(&hex(&format!("029101 {frame}"))), "{name}");
        assert_eq!(bench.receive(unicast(9), tid, LIGHT, answer), None);
        assert_eq!(shown_all(&mut bench), ["found 9", expected], "{name}");
        assert_eq!(bench.controller.next_deadline(), None, "{name}");
    }
}

#[test]
fn requests_that_are_none() {
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
    assert_eq!(bench.controller.nodes().count(), 0, "nobody is known for a request that is none");
}

#[test]
fn a_write_without_an_answer_is_over_once_it_is_sent() {
    let mut bench = Bench::new(|_| {});
    let write = [Property { epc: Epc(0x80), edt: &[0x31] }];
    bench.controller.request(bench.now, address(9), Eoj([2, 0x91, 0]), Request::SetOnly(&write)).unwrap();
    assert_eq!(bench.one().1, "0291006001800131");
    assert_eq!(shown_all(&mut bench), ["9  |  | "]);
}

#[test]
fn what_nobody_awaits_is_ignored() {
    let mut bench = Bench::new(|_| {});
    bench.get(9, &[0x80]);
    let (tid, _) = bench.one();
    let answer = "72 01 800130";
    bench.receive(unicast(8), tid, LIGHT, answer);
    bench.receive(unicast(9), tid + 1, LIGHT, answer);
    bench.receive(unicast(9), tid, Eoj([2, 0x91, 2]), answer);
    bench.receive(unicast(9), tid, LIGHT, "71 01 8000");
    bench.receive(unicast(9), tid, LIGHT, "7E 01 8000 00");
    assert_eq!((bench.controller.stats().unexpected, shown_all(&mut bench).len()), (5, 0));
    bench.receive(unicast(9), tid, LIGHT, answer);
    assert_eq!(shown_all(&mut bench), ["found 9", "9 80=30 |  | "]);
    // Once more, by another interface.
    bench.receive(unicast(9), tid, LIGHT, answer);
    assert_eq!((bench.controller.stats().unexpected, shown_all(&mut bench).len()), (6, 0));
}

#[test]
fn a_request_without_an_answer_is_sent_again_under_its_tid() {
    let mut bench = Bench::new(|_| {});
    bench.get(9, &[0x80]);
    bench.get(9, &[0x81]);
    let first = bench.one();
    for _ in 0..2 {
        bench.wait(2999 * MS);
        assert!(bench.sent().is_empty());
        bench.wait(MS);
        assert_eq!(bench.one(), first);
    }
    bench.wait(3000 * MS);
    assert_eq!(shown_all(&mut bench), ["9 Timeout"]);
    // The late answer is nobody's; the next request is under way.
    let (tid, bytes) = bench.one();
    assert_eq!(bytes, "02910162018100");
    bench.receive(unicast(9), first.0, LIGHT, "72 01 800130");
    assert_eq!(bench.controller.stats().unexpected, 1);
    // An answer to the first of two sendings counts.
    bench.wait(3000 * MS);
    bench.receive(unicast(9), tid, LIGHT, "72 01 810108");
    assert_eq!(shown_all(&mut bench), ["found 9", "9 81=08 |  | "]);
    let stats = bench.controller.stats();
    assert_eq!((stats.sent, stats.retried, stats.timeouts, stats.answered), (4, 2, 1, 1));
    assert!(bench.sent().is_empty(), "what was to be sent again is answered");
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
    // The pause counts from the next datagram on; then three are under way.
    let (tid, bytes) = bench.one();
    assert_eq!(bytes, "02910162018100");
    assert_eq!(bench.controller.next_deadline(), Some(bench.now + 50 * MS));
    bench.wait(50 * MS);
    assert_eq!(bench.one().1, "02910162018200");
    bench.get(6, &[0x80]);
    assert!(bench.sent().is_empty(), "three are enough");
    bench.receive(unicast(7), tid, LIGHT, "52 01 8100");
    assert_eq!(bench.one().1, "02910162018000");
    assert_eq!(bench.controller.stats().answered, 2);
}

#[test]
fn nodes_take_turns_where_only_so_many_requests_are_under_way() {
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
            // It waits for its turn, and those behind it still have theirs.
            assert!(bench.controller.cancel(bench.now, cancelled));
        }
        bench.receive(unicast(node), sent[0].1, LIGHT, "72 01 800130");
    }
    assert_eq!(served, [7, 5, 8, 7, 7]);
    assert!(bench.sent().is_empty());
}

/// A device that answers Get as the closure says; what the controller asks, and what comes of it.
fn split(epcs: &[u8], mut device: impl FnMut(&[Epc]) -> Vec<(Epc, Vec<u8>)>) -> (Vec<usize>, String, usize) {
    let mut bench = Bench::new(|_| {});
    let (mut asked, mut last) = (Vec::new(), String::new());
    // Twice: what it learned the first time it uses the second time.
    for round in 0..2 {
        bench.get(9, epcs);
        let before = asked.len();
        while let Some(transmit) = bench.controller.poll_transmit(bench.now, &mut bench.out) {
            let request = bench.out[..transmit.bytes].to_vec();
            let frame = Frame::parse(&request).unwrap();
            let wanted: Vec<Epc> = frame.properties.iter().map(|property| property.epc).collect();
            asked.push(wanted.len());
            let values = device(&wanted);
            let complete = values.iter().all(|(_, value)| !value.is_empty());
            let esv = if complete { Esv::GetRes } else { Esv::GetSna };
            let header = Header { tid: frame.tid, seoj: frame.deoj, deoj: frame.seoj, esv };
            let mut answer = [0; 1500];
            let mut writer = FrameWriter::new(&mut answer, header).unwrap();
            values.iter().for_each(|(epc, value)| writer.property(*epc, value).unwrap());
            let bytes = writer.finish().unwrap();
            bench.controller.handle(bench.now, &answer[..bytes], unicast(9), &mut bench.out);
        }
        let events = shown_all(&mut bench);
        last = events.last().unwrap().clone();
        if round == 0 {
            asked.push(0);
        } else {
            return (asked.clone(), last, asked.len() - before);
        }
    }
    (asked, last, 0)
}

fn value_of(epc: Epc) -> Vec<u8> {
    vec![epc.0]
}

#[test]
fn a_get_that_is_refused_is_split_until_the_refused_property_is_known() {
    // It says which it does not have: they are asked once more, together, then one by one.
    let knows = |wanted: &[Epc]| -> Vec<(Epc, Vec<u8>)> {
        let has = |epc: Epc| epc.0 != 0x85;
        wanted.iter().map(|epc| (*epc, if has(*epc) { value_of(*epc) } else { Vec::new() })).collect()
    };
    let codes: Vec<u8> = (0x80..0x8A).collect();
    let (asked, last, _) = split(&codes, knows);
    assert_eq!(asked, [10, 1, 0, 10, 1]);
    assert!(last.ends_with("| 85 | ") && last.matches('=').count() == 9, "{last}");
    // It refuses all because of one.
    let all_or_nothing = |wanted: &[Epc]| -> Vec<(Epc, Vec<u8>)> {
        let good = !wanted.contains(&Epc(0x85));
        wanted.iter().map(|epc| (*epc, if good { value_of(*epc) } else { Vec::new() })).collect()
    };
    let (asked, last, _) = split(&codes, all_or_nothing);
    assert_eq!(asked, [10, 5, 5, 3, 2, 1, 1, 1, 2, 0, 10, 5, 5, 3, 2, 1, 1, 1, 2]);
    assert!(last.ends_with("| 85 | ") && last.matches('=').count() == 9, "{last}");
    // It refuses more than ten: the second time it is not asked for more than it takes.
    let ten = |wanted: &[Epc]| -> Vec<(Epc, Vec<u8>)> {
        let good = wanted.len() <= 10;
        wanted.iter().map(|epc| (*epc, if good { value_of(*epc) } else { Vec::new() })).collect()
    };
    let codes: Vec<u8> = (0x80..0x9C).collect();
    let (asked, last, _) = split(&codes, ten);
    assert_eq!(asked, [28, 14, 7, 7, 14, 7, 7, 0, 7, 7, 7, 7]);
    assert!(last.ends_with("|  | ") && last.matches('=').count() == 28, "{last}");
    // It refuses everything.
    let (asked, last, _) =
        split(&[0x80, 0x81, 0x82], |wanted| wanted.iter().map(|epc| (*epc, Vec::new())).collect());
    assert_eq!(asked[..5], [3, 2, 1, 1, 1]);
    assert!(last.ends_with("9  | 80 81 82 | "), "{last}");
    // It says it has all, and sends half.
    let (asked, _, _) = split(&codes, |wanted| {
        wanted.iter().take(wanted.len().div_ceil(2)).map(|epc| (*epc, value_of(*epc))).collect()
    });
    assert_eq!(asked[..6], [28, 14, 7, 3, 1, 0]);
}

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
    assert_eq!(shown_all(&mut bench), ["found 7", "found 8"]);
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
    // A late answer, with one instance less.
    bench.receive(unicast(7), tid, Eoj::NODE_PROFILE, "72 01 D604 01 029101");
    assert_eq!(shown_all(&mut bench), ["found 7"]);
    assert_eq!(bench.controller.nodes().map(|(_, node)| node.instances().len()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn what_is_not_learned_from_notifications_is_found_by_a_search() {
    let mut bench = Bench::new(|config| (config.learn, config.search) = (false, Search::Notify));
    let (all, told) = (Source::multicast(address(9)), "73 01 D504 01 029101");
    bench.receive(all, 77, Eoj::NODE_PROFILE, told);
    assert_eq!(shown_all(&mut bench), ["pushed 9 0EF001 D5=01029101"]);
    bench.controller.search(bench.now);
    let (tid, asked) = bench.one();
    assert_eq!(asked, "0EF0016301D500");
    bench.receive(all, tid, Eoj::NODE_PROFILE, told);
    assert_eq!(shown_all(&mut bench), ["found 9", "pushed 9 0EF001 D5=01029101"]);
}

#[test]
fn notifications() {
    let mut bench = Bench::new(|_| {});
    let all = Source::multicast(address(9));
    bench.receive(all, 0, Eoj::NODE_PROFILE, "73 01 D504 01 029101");
    assert_eq!(shown_all(&mut bench), ["found 9", "pushed 9 0EF001 D5=01029101"]);
    bench.receive(all, 0, LIGHT, "73 02 800131 B00164");
    bench.receive(all, 0, LIGHT, "73 02 800131 B00164");
    assert_eq!(shown_all(&mut bench), ["pushed 9 029101 80=31", "pushed 9 029101 B0=64"]);
    bench.wait(500 * MS);
    bench.receive(all, 0, LIGHT, "73 02 800131 B00164");
    assert_eq!((shown_all(&mut bench).len(), bench.controller.stats().duplicates), (2, 1));
    // INFC wants an answer each time, even a duplicate, and is told once.
    for _ in 0..2 {
        let answer = bench.receive(unicast(9), 5, LIGHT, "74 01 800130");
        assert_eq!(answer.as_deref(), Some("1081000505FF010291017A018000"));
    }
    assert_eq!(shown_all(&mut bench), ["pushed 9 029101 80=30"]);
    // To all: answered to who told.
    assert!(bench.receive(Source::multicast(address(9)), 6, LIGHT, "74 01 800131").is_some());
    assert_eq!(shown_all(&mut bench), ["pushed 9 029101 80=31"]);
    // For an object that we do not have.
    let wrong = hex("1081 0007 029101 0EF002 74 01 800130");
    assert_eq!(bench.controller.handle(bench.now, &wrong, unicast(9), &mut bench.out), None);
    assert!(shown_all(&mut bench).is_empty());
    // Fewer instances than before: the list is read.
    bench.receive(all, 1, Eoj::NODE_PROFILE, "73 01 D50A 03 029101 029102 029103");
    bench.receive(all, 2, Eoj::NODE_PROFILE, "73 01 D504 01 029101");
    let (tid, asked) = bench.one();
    assert_eq!(asked, "0EF0016201D600");
    bench.receive(unicast(9), tid, Eoj::NODE_PROFILE, "72 01 D604 01 029101");
    assert_eq!(bench.controller.node(address(9)).unwrap().instances().len(), 1);
    // One that we do not know: it is asked for its instances.
    bench.events();
    bench.receive(Source::multicast(address(4)), 0, LIGHT, "73 01 800131");
    assert_eq!(shown_all(&mut bench), ["found 4", "pushed 4 029101 80=31"]);
    assert_eq!(bench.one().1, "0EF0016201D600");
}

#[test]
fn our_own_messages_that_come_back_are_ignored() {
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
        // This one refuses three at a time.
        ("029101 62 03 9D00 9E00 9F00", LIGHT, "52 03 9D00 9E00 9F00"),
        ("029101 62 02 9D00 9E00", LIGHT, "72 02 9D0100 9E0100"),
        ("029101 62 01 9F00", LIGHT, "72 01 9F02 0180"),
    ];
    for (asked, seoj, answer) in rows {
        let (tid, bytes) = bench.one();
        assert_eq!(bytes, to_hex(&hex(asked)));
        bench.receive(unicast(9), tid, seoj, answer);
    }
    assert_eq!(shown_all(&mut bench), ["found 9", "pushed 9 0EF001 D5=02029101013001", "interviewed 9"]);
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
fn an_interview_on_demand_of_a_node_that_says_nothing() {
    let mut bench = Bench::new(|config| config.defaults.retries = 0);
    bench.controller.interview(bench.now, address(9)).unwrap();
    assert_eq!(bench.one().1, "0EF0016201D600");
    bench.wait(3000 * MS);
    assert_eq!(bench.sent().len(), 1, "the profile");
    bench.wait(3000 * MS);
    assert_eq!(bench.sent(), []);
    assert_eq!(shown_all(&mut bench), ["interviewed 9"]);
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
        assert_eq!(shown_all(&mut bench), expected);
    }
    assert_eq!(bench.controller.node(address(9)).unwrap().state(), NodeState::Lost);
    bench.receive(Source::multicast(address(9)), 0, LIGHT, "73 01 800130");
    assert_eq!(shown_all(&mut bench), ["found 9", "pushed 9 029101 80=30"]);
    assert_eq!(bench.controller.node(address(9)).unwrap().state(), NodeState::Present);
}

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
    assert_eq!(shown_all(&mut bench), ["9 Cancelled", "9 Cancelled"]);
    request(&mut bench);
    request(&mut bench);
    bench.sent();
    bench.controller.forget(address(9));
    assert_eq!(shown_all(&mut bench), ["9 Cancelled", "9 Cancelled"]);
    assert_eq!((bench.controller.nodes().count(), bench.controller.next_deadline()), (0, None));
    let third = request(&mut bench);
    assert!(!bench.controller.cancel(bench.now, second) && bench.controller.cancel(bench.now, third));
}

#[test]
fn what_others_make_it_hold_is_bounded() {
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
    // Their answers are kept, though there is no room for other events.
    for _ in 0..5 {
        let (tid, _) = bench.one();
        bench.receive(unicast(0), tid, LIGHT, "72 01 8008 0102030405060708");
    }
    let answers = bench.events();
    assert!(
        answers.len() == 5
            && answers.iter().all(|event| matches!(event, ControllerEvent::Answer { result: Ok(_), .. }))
    );
    bench.get(0, &[0x80, 0x81]);
    let (tid, _) = bench.one();
    bench.receive(unicast(0), tid, LIGHT, "72 02 8008 0102030405060708 810101");
    assert!(matches!(
        bench.events()[..],
        [ControllerEvent::Answer { result: Err(AnswerError::TooLong), .. }]
    ));
    // A node that is lost makes room for another.
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
fn a_flood_of_nonsense_changes_nothing() {
    let mut bench = Bench::new(|_| {});
    bench.get(9, &[0x80]);
    let (tid, _) = bench.one();
    for node in 0..=255 {
        for junk in ["", "62", "72 01", "72 02 800130", "6E 00", "FF 01 8000"] {
            bench.receive(unicast(node), tid, LIGHT, junk);
        }
    }
    assert_eq!((bench.controller.stats().malformed, bench.controller.nodes().count()), (256 * 6, 1));
    bench.receive(unicast(9), tid, LIGHT, "72 01 800130");
    assert_eq!(shown_all(&mut bench).len(), 2);
}
