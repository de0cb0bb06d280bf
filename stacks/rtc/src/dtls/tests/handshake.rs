//! Handshakes over a network with loss, duplication and reordering.

use super::*;

const SUITES: [Dtls12CipherSuite; 3] = [
    Dtls12CipherSuite::ECDHE_ECDSA_AES128_GCM_SHA256,
    Dtls12CipherSuite::ECDHE_ECDSA_AES256_GCM_SHA384,
    Dtls12CipherSuite::ECDHE_ECDSA_CHACHA20_POLY1305_SHA256,
];

/// Disturbs each datagram of the handshake in turn.
pub(super) fn each_datagram_once<A: Peer, B: Peer>(what: &str, make: impl Fn(Instant) -> Network<A, B>) {
    let late = |by: u64| vec![LATENCY + Duration::from_millis(by)];
    let fates: [(&str, Fate); 5] = [
        ("lost", vec![]),
        ("twice", vec![LATENCY, LATENCY]),
        ("twice, once later", vec![LATENCY, LATENCY + Duration::from_millis(15)]),
        ("late", late(1)),
        ("late by more than a round trip", late(35)),
    ];
    let mut wrong = Vec::new();
    for (name, fate) in fates {
        for unlucky in 0..40 {
            let mut net = make(Instant::now());
            let result = net.connect(|index, _| if index == unlucky { fate.clone() } else { on_time() });
            wrong.extend(result.err().map(|why| format!("{what}: datagram {unlucky} {name}: {why}")));
            if unlucky >= net.sent {
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ours_with_ours() {
    let make = |now| Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
    let mut net = make(Instant::now());
    net.connect(|_, _| on_time()).unwrap();
    assert_eq!(net.sent, 4, "one datagram a flight");
    each_datagram_once("ours", make);
}

#[test]
fn ours_with_dimpl_in_small_pieces() {
    in_small_pieces(ours);
}

#[test]
fn every_flight_backwards() {
    let config = RawConfig { mtu: 200, ..RawConfig::default() };
    let backwards = |index: usize, _: &[u8]| vec![LATENCY * 2 - Duration::from_micros(100) * index as u32];
    let now = Instant::now();
    let mut net = Network::new(now, ours(Role::Client, now), Raw::new(Role::Server, &config, now));
    net.connect(backwards).unwrap();
    let mut net = Network::new(now, Raw::new(Role::Client, &config, now), ours(Role::Server, now));
    net.connect(backwards).unwrap();
    assert!(net.sent > 6, "{}", net.sent);
}

#[test]
fn every_suite_both_ways_and_cookies() {
    for (suite, cookie) in SUITES.into_iter().flat_map(|suite| [(suite, false), (suite, true)]) {
        let config = RawConfig { suites: vec![suite], cookie, ..RawConfig::default() };
        let now = Instant::now();
        let mut net = Network::new(now, ours(Role::Client, now), Raw::new(Role::Server, &config, now));
        net.connect(|_, _| on_time()).unwrap();
        let headroom = if suite == SUITES[2] { 13 } else { 21 };
        assert_eq!((net.a.dtls.headroom(), net.a.dtls.overhead()), (headroom, headroom + 16));
        let mut net = Network::new(now, Raw::new(Role::Client, &config, now), ours(Role::Server, now));
        net.connect(|_, _| on_time()).unwrap();
        assert_eq!(net.b.dtls.headroom(), headroom);
        // Records of `dimpl` are decrypted by us, and vice versa, at any length.
        for length in [1, 15, 16, 17, 1110, 16_384] {
            let data = vec![length as u8; length];
            let to_a = net.b.data(&data);
            net.a.receive(now, to_a);
            let to_b = net.a.data(&data);
            net.b.receive(now, to_b);
            assert_eq!((net.a.received().last(), net.b.received().last()), (Some(&data), Some(&data)));
        }
    }
}

#[test]
fn a_client_of_ours_offers_the_fastest_suite_first() {
    let config = RawConfig { suites: SUITES.to_vec(), ..RawConfig::default() };
    let now = Instant::now();
    let mut net = Network::new(now, ours(Role::Client, now), Raw::new(Role::Server, &config, now));
    let mut hello = Vec::new();
    net.connect(|index, datagram| {
        if index == 0 {
            hello = datagram.to_vec();
        }
        on_time()
    })
    .unwrap();
    let suites = [0xC0, 0x2B, 0xC0, 0x2C, 0xCC, 0xA9];
    assert!(hello.windows(8).any(|window| window == [&[0, 6], &suites[..]].concat()), "{hello:?}");
    // supported_groups with X25519 and P-256.
    let groups = hello.windows(4).find(|window| window[..2] == [0, 10]).expect("the extension");
    assert!(usize::from(groups[3]) >= 6, "{groups:?}");
    for group in [[0, 29], [0, 23]] {
        assert!(hello.windows(2).any(|window| window == group), "{group:?}");
    }
}

/// The server's data overtakes its last flight, or that flight is lost.
#[test]
fn data_before_the_end_of_the_handshake_is_buffered() {
    for lost in [false, true] {
        let now = Instant::now();
        let mut net = Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
        let mut fate = |index: usize, _: &[u8]| match (index, lost) {
            (3, true) => vec![],
            (3, false) => vec![LATENCY * 3],
            _ => on_time(),
        };
        net.run(Duration::from_millis(35), &mut fate, |net| net.b.is_connected());
        for number in 0..40u8 {
            let datagram = net.b.data(&[number]);
            net.a.receive(net.now, datagram);
        }
        assert!(net.a.received.is_empty());
        net.run(Duration::from_secs(1), &mut fate, |net| net.a.is_connected());
        let expected: Vec<Vec<u8>> = (0..30).map(|number| vec![number]).collect();
        assert_eq!(net.a.received, expected, "the first 30, in order");
        let datagram = net.a.data(b"from a");
        net.b.receive(net.now, datagram);
        assert_eq!(net.b.received, [b"from a"]);
    }
}

#[test]
fn data_in_the_datagram_that_completes_the_handshake() {
    let now = Instant::now();
    let mut net = Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
    net.run(
        Duration::from_secs(1),
        |index, _| if index == 3 { vec![] } else { on_time() },
        |net| net.sent == 4,
    );
    let again = net.a.deadline().unwrap();
    net.a.timeout(again);
    let flight = net.a.transmit().unwrap();
    net.b.receive(again, flight);
    let mut last = net.b.transmit().unwrap();
    last.extend(net.b.data(b"one"));
    last.extend(net.b.data(b"two"));
    net.a.receive(again, last);
    assert_eq!(net.a.events, [DtlsEvent::Connected]);
    assert_eq!(net.a.received, [b"one", b"two"]);
}

/// The client repeats its last flight while the server's answer is lost repeatedly; each transmission has new
/// numbers.
#[test]
fn the_last_flight_is_repeated_until_data_arrives() {
    let now = Instant::now();
    let mut net = Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
    let (mut answers, mut lost) = (Vec::new(), 0);
    let fate = |_: usize, datagram: &[u8]| {
        if shape(datagram) == [(content::CHANGE_CIPHER_SPEC, 0), (content::HANDSHAKE, 1)] {
            answers.push(datagram.to_vec());
            lost += 1;
            if lost <= 3 {
                return vec![];
            }
        }
        on_time()
    };
    net.run(Duration::from_secs(3), fate, |net| net.a.is_connected());
    assert!(net.a.is_connected());
    let numbers = |datagram: &[u8]| (datagram[10], datagram[14 + 10]);
    assert!(answers.windows(2).all(|pair| {
        let (before, after) = (numbers(&pair[0]), numbers(&pair[1]));
        after.0 == before.0 + 1 && after.1 == before.1 + 1
    }));
    assert_eq!(answers.len(), 4);
    // Data has arrived: the flight is not needed, and a late repetition by the client is not answered.
    let data = net.a.data(b"x");
    net.b.receive(net.now, data);
    let finished = [&[20, 0, 0, 12, 0, 4, 0, 0, 0, 0, 0, 12][..], &[0; 12]].concat();
    let again = net.a.sealed(content::HANDSHAKE, &finished);
    net.b.receive(net.now, again);
    assert_eq!(net.b.transmit(), None);
}

#[test]
fn a_silent_peer_ends_the_handshake() {
    let now = Instant::now();
    let mut net = Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
    net.run(Duration::from_secs(40), |_, _| vec![], |_| false);
    assert!(matches!(net.a.events[..], [DtlsEvent::Failed(Error::Dtls(_))]), "{:?}", net.a.events);
    assert_eq!((net.a.deadline(), net.b.deadline(), net.b.events.len()), (None, None, 0));
    assert!((6..12).contains(&net.sent), "{}", net.sent);
}

#[test]
fn wrong_fingerprints() {
    let [client, server] = &*CERTIFICATES;
    let (right, wrong) = (*server.fingerprint(), *client.fingerprint());
    let now = Instant::now();
    for (at_client, at_server) in [(wrong, wrong), (right, right), (wrong, right)] {
        let a = Ours::with(client, Versions::Only12, Role::Client, at_client, now);
        let b = Ours::with(server, Versions::Only12, Role::Server, at_server, now);
        let mut net = Network::new(now, a, b);
        net.run(
            Duration::from_secs(5),
            |_, _| on_time(),
            |net| !net.a.events.is_empty() && !net.b.events.is_empty(),
        );
        // The verifying side sends bad_certificate; the other one gives up after its next timer, long before
        // its time limit.
        let (looked, told) = if at_client == wrong { (&net.a, &net.b) } else { (&net.b, &net.a) };
        assert_eq!(looked.events, [DtlsEvent::Failed(Error::Fingerprint)]);
        assert_eq!(
            told.events,
            [DtlsEvent::Failed(Error::Dtls("the peer sent alert 42 (bad_certificate)".into()))]
        );
        assert!(net.now - now < Duration::from_secs(1), "{:?}", net.now - now);
        assert!(!net.a.is_connected() && !net.b.is_connected());
        assert_eq!((net.a.data(b"x"), net.b.data(b"x")), (vec![], vec![]));
    }
}

#[test]
fn a_server_need_not_request_our_certificate() {
    let now = Instant::now();
    let config = RawConfig { certificates: false, ..RawConfig::default() };
    let mut net = Network::new(now, ours(Role::Client, now), Raw::new(Role::Server, &config, now));
    net.connect(|_, _| on_time()).unwrap();
}

#[test]
fn a_client_must_present_a_certificate() {
    let now = Instant::now();
    let mut server = ours(Role::Server, now);
    server.receive(now, ours(Role::Client, now).transmit().unwrap());
    assert!(server.transmit().is_some());
    // A Certificate message with an empty list.
    let empty = plain(content::HANDSHAKE, 1, &[11, 0, 0, 3, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0]);
    server.receive(now, empty);
    assert!(matches!(server.events[..], [DtlsEvent::Failed(Error::Dtls(_))]), "{:?}", server.events);
    assert_eq!(server.transmit().unwrap()[13..], [2, 40]);
}

#[test]
fn a_server_must_support_the_extended_master_secret() {
    let now = Instant::now();
    let mut client = ours(Role::Client, now);
    let mut server = Raw::new(Role::Server, &RawConfig::default(), now);
    server.receive(now, client.transmit().unwrap());
    let mut flight = server.transmit().unwrap();
    let at = flight.windows(4).position(|window| window == [0, 23, 0, 0]).unwrap();
    flight[at] = 0xAA;
    client.receive(now, flight);
    let [DtlsEvent::Failed(Error::Dtls(why))] = &client.events[..] else { panic!("{:?}", client.events) };
    assert!(why.to_lowercase().contains("extended master secret"), "{why}");
    assert_eq!(client.transmit().unwrap()[13..], [2, 40]);
}
