//! DTLS 1.3: handshakes over a network with loss and reordering, with peers of either version, and
//! established connections.

use super::handshake::each_datagram_once;
use super::*;
use crate::dtls::flight::{KEY_UPDATE, NEW_SESSION_TICKET, write_message};
use crate::dtls::record::KEY_BYTES_MAX;

fn ours13(role: Role, now: Instant) -> Ours {
    Ours::new(Versions::Both, role, now)
}

fn raw13() -> RawConfig {
    RawConfig { versions: Versions::Only13, ..RawConfig::default() }
}

fn session(peer: &mut Ours) -> &mut Session {
    let State::Connected13(session) = &mut peer.dtls.state else { panic!("not connected with 1.3") };
    session
}

/// Runs until neither side has anything to send or repeat.
fn settle<A: Peer, B: Peer>(net: &mut Network<A, B>) {
    net.run(Duration::from_secs(20), |_, _| on_time(), is_quiet);
}

/// Whether neither side waits for an answer.
fn is_quiet<A: Peer, B: Peer>(net: &Network<A, B>) -> bool {
    let soon = net.now + Duration::from_secs(20);
    [net.a.deadline(), net.b.deadline()].into_iter().flatten().all(|at| at > soon)
}

#[test]
fn ours_with_ours() {
    let make = |now| Network::new(now, ours13(Role::Client, now), ours13(Role::Server, now));
    let mut net = make(Instant::now());
    net.connect(|_, _| on_time()).unwrap();
    assert_eq!(net.sent, 4, "a datagram a flight, and the ACK");
    assert_eq!([net.a.dtls.version(), net.b.dtls.version()], [Some(Version::Dtls13); 2]);
    assert_eq!((net.a.dtls.headroom(), net.a.dtls.overhead()), (5, 22));
    each_datagram_once("ours", make);
}

#[test]
fn ours_with_dimpl_in_small_pieces() {
    for mtu in [1150, 300] {
        let config = RawConfig { mtu, ..raw13() };
        each_datagram_once("client", |now| {
            Network::new(now, ours13(Role::Client, now), Raw::new(Role::Server, &config, now))
        });
        each_datagram_once("server", |now| {
            Network::new(now, Raw::new(Role::Client, &config, now), ours13(Role::Server, now))
        });
    }
}

#[test]
fn every_flight_backwards() {
    for versions in [Versions::Only12, Versions::Only13, Versions::Both] {
        let config = RawConfig { mtu: 250, versions, ..RawConfig::default() };
        let backwards =
            |index: usize, _: &[u8]| vec![LATENCY * 2 - Duration::from_micros(100) * index as u32];
        let now = Instant::now();
        let mut net = Network::new(now, ours13(Role::Client, now), Raw::new(Role::Server, &config, now));
        net.connect(backwards).unwrap();
        let mut net = Network::new(now, Raw::new(Role::Client, &config, now), ours13(Role::Server, now));
        net.connect(backwards).unwrap();
    }
}

#[test]
fn a_peer_with_one_version_gets_it() {
    use Version::{Dtls12, Dtls13};
    use Versions::{Both, Only12, Only13};
    let now = Instant::now();
    for (ours, theirs, expected) in [
        (Both, Both, Some(Dtls13)),
        (Both, Only12, Some(Dtls12)),
        (Both, Only13, Some(Dtls13)),
        (Only12, Both, Some(Dtls12)),
        (Only13, Both, Some(Dtls13)),
        (Only12, Only13, None),
        (Only13, Only12, None),
    ] {
        for role in [Role::Client, Role::Server] {
            let other = if role == Role::Client { Role::Server } else { Role::Client };
            let mut net = Network::new(now, Ours::new(ours, role, now), Ours::new(theirs, other, now));
            let connected = net.connect(|_, _| on_time());
            assert_eq!(connected.is_ok(), expected.is_some(), "{ours:?} {theirs:?} {role:?} {connected:?}");
            if expected.is_some() {
                assert_eq!([net.a.dtls.version(), net.b.dtls.version()], [expected; 2]);
            }
            let config = RawConfig { versions: theirs, ..RawConfig::default() };
            let mut net = Network::new(now, Ours::new(ours, role, now), Raw::new(other, &config, now));
            let connected = net.connect(|_, _| on_time());
            assert_eq!(connected.is_ok(), expected.is_some(), "{ours:?} {theirs:?} {role:?} {connected:?}");
        }
    }
}

/// A peer limited to 1.2, with each datagram disturbed in turn.
#[test]
fn back_to_1_2_over_a_bad_network() {
    in_small_pieces(ours13);
}

#[test]
fn every_suite_both_ways_cookies_and_second_hellos() {
    let suites = [
        Dtls13CipherSuite::AES_128_GCM_SHA256,
        Dtls13CipherSuite::AES_256_GCM_SHA384,
        Dtls13CipherSuite::CHACHA20_POLY1305_SHA256,
    ];
    let now = Instant::now();
    for suite in suites {
        for (cookie, groups) in [(false, vec![]), (true, vec![]), (false, vec![NamedGroup::Secp256r1])] {
            let config = RawConfig { suites_13: vec![suite], cookie, groups, ..raw13() };
            let mut net = Network::new(now, ours13(Role::Client, now), Raw::new(Role::Server, &config, now));
            net.connect(|_, _| on_time()).unwrap();
            let mut net = Network::new(now, Raw::new(Role::Client, &config, now), ours13(Role::Server, now));
            net.connect(|_, _| on_time()).unwrap();
        }
    }
    // With losses.
    let config = RawConfig { cookie: true, groups: vec![NamedGroup::Secp256r1], ..raw13() };
    each_datagram_once("client", |now| {
        Network::new(now, ours13(Role::Client, now), Raw::new(Role::Server, &config, now))
    });
    each_datagram_once("server", |now| {
        Network::new(now, Raw::new(Role::Client, &config, now), ours13(Role::Server, now))
    });
}

#[test]
fn a_downgrade_is_detected() {
    let now = Instant::now();
    let mut client = ours13(Role::Client, now);
    let mut server = Raw::new(Role::Server, &RawConfig::default(), now);
    server.receive(now, client.transmit().unwrap());
    let mut flight = server.transmit().unwrap();
    let random = HEADER_BYTES + 12 + 2;
    flight[random + 24..random + 32].copy_from_slice(b"DOWNGRD\x01");
    client.receive(now, flight);
    let [DtlsEvent::Failed(Error::Dtls(why))] = &client.events[..] else { panic!("{:?}", client.events) };
    assert!(why.contains("1.3"), "{why}");
    assert_eq!(client.transmit().unwrap()[13..], [2, 47]);
}

#[test]
fn wrong_fingerprints() {
    let [client, server] = &*CERTIFICATES;
    let (right, wrong) = (*server.fingerprint(), *client.fingerprint());
    let now = Instant::now();
    for (at_client, at_server) in [(wrong, wrong), (right, right), (wrong, right)] {
        let a = Ours::with(client, Versions::Both, Role::Client, at_client, now);
        let b = Ours::with(server, Versions::Both, Role::Server, at_server, now);
        let mut net = Network::new(now, a, b);
        settle(&mut net);
        let (looked, told) = if at_client == wrong { (&net.a, &net.b) } else { (&net.b, &net.a) };
        assert_eq!(looked.events, [DtlsEvent::Failed(Error::Fingerprint)]);
        let end = Some(&DtlsEvent::Failed(Error::Dtls("the peer sent alert 42 (bad_certificate)".into())));
        assert_eq!(told.events.last(), end, "it is authenticated, so it counts at once");
        assert!(net.now - now < Duration::from_millis(100) && !net.a.is_connected() && !net.b.is_connected());
    }
}

/// An attacker with the right certificate but without its key: neither the client nor the server connects.
#[test]
fn impostors() {
    let now = Instant::now();
    for versions in [Versions::Only12, Versions::Only13, Versions::Both] {
        for role in [Role::Client, Role::Server] {
            let (us, other) = if role == Role::Client { (0, Role::Server) } else { (1, Role::Client) };
            let mut impostor = Certificate::generate().unwrap();
            impostor.der.clone_from(&CERTIFICATES[us].der);
            let peer = *CERTIFICATES[1 - us].fingerprint();
            let a = Ours::with(&Arc::new(impostor), versions, role, peer, now);
            let mut net = Network::new(now, a, Ours::new(versions, other, now));
            let early = if role == Role::Server { None } else { Some(b"to nobody") };
            net.run(Duration::from_secs(5), |_, _| on_time(), |net| !net.b.events.is_empty());
            assert!(matches!(net.b.events[..], [DtlsEvent::Failed(Error::Dtls(_))]), "{:?}", net.b.events);
            let data = early.map(|data| net.a.data(data)).unwrap_or_default();
            net.b.receive(net.now, data);
            assert!(net.b.received.is_empty() && net.b.data(b"x").is_empty());
            net.run(Duration::from_secs(5), |_, _| on_time(), |net| !net.a.is_connected());
            assert!(!net.a.is_connected() && net.a.received.is_empty(), "{versions:?} {role:?}");
        }
    }
}

/// Data that the server sends before the client is authenticated arrives with its flight, or after it.
#[test]
fn a_server_may_send_first() {
    let now = Instant::now();
    let mut net = Network::new(now, ours13(Role::Client, now), ours13(Role::Server, now));
    assert!(!net.b.dtls.can_seal());
    let hello = net.a.transmit().unwrap();
    net.b.receive(now, hello);
    assert!(net.b.dtls.can_seal() && !net.b.is_connected() && !net.a.dtls.can_seal());
    let early = net.b.data(b"early");
    // It overtakes the flight.
    net.a.receive(now, early.clone());
    net.a.receive(now, early);
    assert!(net.a.received.is_empty());
    let flight = net.b.transmit().unwrap();
    net.a.receive(now, flight);
    assert!(net.a.events.is_empty() && net.a.received.is_empty(), "its signature is not verified yet");
    net.a.timeout(net.a.deadline().unwrap());
    assert_eq!(net.a.events, [DtlsEvent::Connected]);
    assert_eq!(net.a.received, [b"early"]);
    // Data of an unauthenticated client is not read.
    let data = net.a.data(b"data");
    net.b.receive(now, data);
    assert!(net.b.received.is_empty() && net.b.events.is_empty());
    let last = net.a.transmit().unwrap();
    net.b.receive(now, last);
    assert_eq!(
        (&net.b.events[..], &net.b.received[..]),
        (&[DtlsEvent::Connected][..], &[b"data".to_vec()][..])
    );
}

/// The client repeats its last flight until the ACK arrives; the server acknowledges each repetition, also
/// much later.
#[test]
fn the_last_flight_is_repeated_until_it_is_acknowledged() {
    let now = Instant::now();
    let mut net = Network::new(now, ours13(Role::Client, now), ours13(Role::Server, now));
    let mut seen = [0; 2];
    // In each direction, the first three datagrams of the last phase are lost: Finished, then ACKs.
    net.run(
        Duration::from_secs(20),
        |index, datagram| {
            if index < 2 || datagram[0] == content::HANDSHAKE {
                return on_time();
            }
            let is_ack = datagram[0] & 3 == 3;
            seen[usize::from(is_ack)] += 1;
            if seen[usize::from(is_ack)] <= 3 { vec![] } else { on_time() }
        },
        |net| net.a.is_connected() && net.b.is_connected() && net.a.deadline().is_none(),
    );
    // Repetitions are acknowledged record by record, each only once.
    assert_eq!(seen, [6, 6]);
    assert!(net.b.is_connected() && net.a.deadline().is_none());
    // The server discards the state after a while.
    net.b.timeout(net.now + Duration::from_secs(61));
    assert_eq!(net.b.deadline(), None);
}

#[test]
fn missing_acks_do_not_end_the_connection() {
    let now = Instant::now();
    let mut net = Network::new(now, ours13(Role::Client, now), ours13(Role::Server, now));
    let lost_from_here = |index: usize, _: &[u8]| if index >= 2 { vec![] } else { on_time() };
    net.run(Duration::from_secs(100), lost_from_here, |_| false);
    assert_eq!(net.a.events, [DtlsEvent::Connected]);
    assert_eq!(net.a.deadline(), None);
    assert!(matches!(net.b.events[..], [DtlsEvent::Failed(_)]), "{:?}", net.b.events);
    assert!(net.sent < 40, "{}", net.sent);
}

/// Key updates by either side, requested or not, with losses, until the epoch's bits have wrapped twice.
#[test]
fn keys_are_updated() {
    let mut net = connected_with(Versions::Both);
    settle(&mut net);
    for round in 0..9u8 {
        // The key limit is reached on one side or the other.
        let peer = if round % 2 == 0 { &mut net.a } else { &mut net.b };
        session(peer).protection.write.wear_out();
        for again in 0..3 {
            for data in [b"to b", b"b to"] {
                let (from, to) =
                    if data == b"to b" { (&mut net.a, &mut net.b) } else { (&mut net.b, &mut net.a) };
                let record = from.data(data);
                to.receive(net.now, record);
            }
            net.run(
                Duration::from_secs(9),
                |index, _| if (index + again) % 3 == 0 { vec![] } else { on_time() },
                is_quiet,
            );
            settle(&mut net);
        }
        let epochs = [&mut net.a, &mut net.b].map(|peer| session(peer).protection.write.epoch());
        assert_eq!(epochs, [4 + u64::from(round); 2], "one was asked to follow");
    }
    assert_eq!((net.a.received.len(), net.b.received.len()), (27, 27));
}

/// The path is interrupted for longer than one flight is retransmitted.
#[test]
fn an_unacknowledged_key_update_is_repeated() {
    let mut net = connected_with(Versions::Both);
    settle(&mut net);
    session(&mut net.a).protection.write.wear_out();
    let data = net.b.data(b"to a");
    net.a.receive(net.now, data);
    net.run(Duration::from_secs(3600), |_, _| vec![], |_| false);
    assert_eq!(session(&mut net.a).protection.write.epoch(), 3);
    net.run(Duration::from_secs(600), |_, _| on_time(), is_quiet);
    assert_eq!(session(&mut net.a).protection.write.epoch(), 4);
    let data = net.a.data(b"new key");
    net.b.receive(net.now, data);
    assert_eq!(net.b.received.last().unwrap(), b"new key");
}

/// DTLS 1.2 has no key updates. In DTLS 1.3, the peer may never acknowledge one.
#[test]
fn a_key_that_is_never_replaced_ends_the_connection() {
    for versions in [Versions::Only12, Versions::Both] {
        let mut net = connected_with(versions);
        settle(&mut net);
        match &mut net.a.dtls.state {
            State::Connected(connection) => connection.protection.set_sealed_bytes(KEY_BYTES_MAX),
            State::Connected13(session) => session.protection.write.set_sealed_bytes(KEY_BYTES_MAX),
            State::Handshake(_) | State::Over(_) => panic!("not connected"),
        }
        assert!(net.a.data(b"one more").is_empty());
        net.a.poll_events();
        assert!(net.a.error().contains("as much as the standard allows"), "{versions:?}: {}", net.a.error());
    }
}

#[test]
fn dimpl_updates_its_keys_and_so_do_we() {
    let now = Instant::now();
    for role in [Role::Client, Role::Server] {
        let other = if role == Role::Client { Role::Server } else { Role::Client };
        let mut net = Network::new(now, ours13(role, now), Raw::new(other, &raw13(), now));
        net.connect(|_, _| on_time()).unwrap();
        settle(&mut net);
        for round in 1..7 {
            session(&mut net.a).protection.write.wear_out();
            let data = net.a.data(b"worn out");
            net.b.receive(net.now, data);
            let data = net.b.data(b"nothing new");
            net.a.receive(net.now, data);
            settle(&mut net);
            // `dimpl` answers when it is polled again.
            let data = net.a.data(b"again");
            net.b.receive(net.now, data);
            settle(&mut net);
            assert_eq!(session(&mut net.a).protection.write.epoch(), 3 + round);
            let (to_b, to_a) = (net.a.data(b"new key"), net.b.data(b"its own"));
            net.b.receive(net.now, to_b);
            net.a.receive(net.now, to_a);
            assert_eq!(net.b.received.last().unwrap(), b"new key");
            assert_eq!(net.a.received.last().unwrap(), b"its own");
        }
    }
}

#[test]
fn messages_after_the_handshake() {
    let mut net = connected_with(Versions::Both);
    settle(&mut net);
    let now = net.now;
    let next = 6;
    let ticket = write_message(NEW_SESSION_TICKET, next, &[7; 90]);
    let mut pieces = [ticket[..12 + 50].to_vec(), [&ticket[..12], &ticket[12 + 50..]].concat()];
    pieces[0][11] = 50;
    (pieces[1][8], pieces[1][11]) = (50, 40);
    let update = |number, body: &[u8]| write_message(KEY_UPDATE, number, body);
    for (what, from_server, message, acknowledged) in [
        ("the end of a ticket first", true, pieces[1].clone(), false),
        ("its beginning", true, pieces[0].clone(), true),
        ("its end", true, pieces[1].clone(), true),
        ("again", true, ticket.clone(), true),
        ("one too far", true, write_message(NEW_SESSION_TICKET, next + 2, &[7]), false),
        (
            "two in a record",
            true,
            [7, 8].map(|number| write_message(NEW_SESSION_TICKET, number, &[1])).concat(),
            true,
        ),
        ("a ticket of a client", false, write_message(NEW_SESSION_TICKET, 4, &[1]), false),
        ("a ClientHello", false, write_message(1, 4, &[1; 50]), false),
        ("a request for a certificate", true, write_message(13, 9, &[0, 0, 0]), false),
        ("an update that is none", true, update(9, &[2]), false),
        ("an update that is too long", true, update(9, &[0, 0]), false),
        ("half a header", true, vec![24, 0, 0], false),
        ("an update", true, update(9, &[0]), true),
    ] {
        let (from, to) = if from_server { (&mut net.b, &mut net.a) } else { (&mut net.a, &mut net.b) };
        let record = from.sealed(content::HANDSHAKE, &message);
        to.receive(now, record);
        assert_eq!(to.transmit().is_some(), acknowledged, "{what}");
        assert_eq!(to.transmit(), None, "{what}");
        assert!(to.is_connected(), "{what}");
    }
    // The server is still received with its old key, but not with an unannounced one.
    let old = net.b.data(b"old key");
    net.a.receive(now, old);
    assert_eq!(net.a.received, [b"old key"]);
}

#[test]
fn genuine_alerts() {
    for (alert, expected) in [
        (
            &[2, 80][..],
            Some(DtlsEvent::Failed(Error::Dtls("the peer sent alert 80 (internal_error)".into()))),
        ),
        (&[1, 80], Some(DtlsEvent::Failed(Error::Dtls("the peer sent alert 80 (internal_error)".into())))),
        (&[1, 0], Some(DtlsEvent::Closed)),
        (&[1, 90], None),
        (&[2], None),
        (&[], None),
    ] {
        says(connected_with(Versions::Both), alert, expected.as_ref());
    }
}

#[test]
fn dimpl_hears_and_says_close_notify() {
    let now = Instant::now();
    for (we_close, role) in
        [(true, Role::Client), (false, Role::Server), (true, Role::Server), (false, Role::Client)]
    {
        let other = if role == Role::Client { Role::Server } else { Role::Client };
        let mut net = Network::new(now, ours13(role, now), Raw::new(other, &raw13(), now));
        net.connect(|_, _| on_time()).unwrap();
        if we_close {
            net.a.dtls.close();
        } else {
            net.b.dimpl.close().unwrap();
            net.b.drain();
        }
        settle(&mut net);
        assert!(net.b.closed && !net.a.is_connected(), "it hears ours, or our answer");
        assert_eq!(net.a.events.contains(&DtlsEvent::Closed), !we_close);
    }
}

/// Records that no peer encrypted, of every epoch and form, and plaintext ones, to a connected pair.
#[test]
fn noise_is_ignored_when_connected() {
    let mut net = connected_with(Versions::Both);
    settle(&mut net);
    let genuine = net.a.data(b"genuine");
    for flags in 0..=255u8 {
        for bytes in [1, 3, 20, 60] {
            let mut record = vec![0xA5; bytes];
            record[0] = flags;
            net.a.receive(net.now, record.clone());
            net.b.receive(net.now, record.clone());
            // With a valid length, and further bytes.
            if bytes > 5 {
                record[3..5].copy_from_slice(&((bytes - 5) as u16).to_be_bytes());
                net.b.receive(net.now, [&record[..], &record].concat());
            }
        }
    }
    for content in 20..27 {
        net.b.receive(net.now, plain(content, 9, &[2, 40]));
    }
    assert_eq!((net.a.events.len(), net.b.events.len()), (1, 1));
    assert_eq!((net.a.transmit(), net.b.transmit()), (None, None));
    net.b.receive(net.now, genuine.clone());
    assert_eq!(net.b.received, [b"genuine"]);
    // A connection id: the rest of the datagram cannot be read.
    let (mut with_id, fresh) = (genuine, net.a.data(b"fresh"));
    with_id[0] |= 0x10;
    net.b.receive(net.now, [with_id, fresh.clone()].concat());
    assert_eq!(net.b.received.len(), 1);
    net.b.receive(net.now, fresh);
    assert_eq!(net.b.received.len(), 2);
}
