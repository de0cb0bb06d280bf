//! Records between connected peers.

use super::*;

/// The plaintexts that the peer delivers from this datagram.
fn deliver(peer: &mut Ours, now: Instant, datagram: &[u8]) -> Vec<Vec<u8>> {
    peer.receive(now, datagram.to_vec());
    std::mem::take(&mut peer.received)
}

#[test]
fn records_of_any_length_and_many_in_a_datagram() {
    let mut net = connected();
    let now = net.now;
    for length in [1, 2, 15, 16, 17, 1110, 16_383, 16_384] {
        let data = vec![length as u8; length];
        let record = net.a.data(&data);
        assert_eq!(record.len(), length + net.a.dtls.overhead());
        assert_eq!(deliver(&mut net.b, now, &record), [data]);
    }
    let datagram = [net.a.data(b"1"), net.a.data(b""), net.a.data(b"2"), net.a.data(b"3")].concat();
    assert_eq!(deliver(&mut net.b, now, &datagram), [b"1", b"2", b"3"]);
}

#[test]
fn one_counter_for_everything() {
    let mut net = connected();
    // Finished took number 0 on both sides.
    for (peer, number) in [(&mut net.a, 1), (&mut net.b, 1)] {
        for number in number..number + 3 {
            let record = peer.data(b"x");
            let stamp = [0, 1, 0, 0, 0, 0, 0, number];
            assert_eq!(record[..13], [&[23, 254, 253][..], &stamp, &[0, 8 + 1 + 16]].concat());
            assert_eq!(record[13..21], stamp, "the explicit nonce");
        }
    }
}

#[test]
fn what_cannot_be_sealed() {
    let now = Instant::now();
    let mut waiting = ours(Role::Server, now);
    let mut buffer = vec![0; 20_000];
    assert_eq!(waiting.dtls.seal(&mut buffer, 10), 0);
    assert_eq!((waiting.dtls.headroom(), waiting.dtls.overhead()), (HEADROOM, OVERHEAD));
    let mut net = connected();
    assert_eq!(net.a.dtls.seal(&mut buffer, 16_385), 0);
    assert_eq!(net.a.dtls.seal(&mut buffer[..OVERHEAD + 10 - 1], 10), 0);
    assert_eq!(net.a.dtls.seal(&mut [], 0), 0);
    assert_eq!(net.a.dtls.seal(&mut buffer, 16_384), 16_384 + net.a.dtls.overhead());
    net.a.dtls.close();
    assert_eq!(net.a.dtls.seal(&mut buffer, 10), 0);
}

#[test]
fn replays_and_what_is_too_old() {
    let mut net = connected();
    let now = net.now;
    let records: Vec<_> = (0..1030u16).map(|number| net.a.data(&number.to_be_bytes())).collect();
    let fresh = |b: &mut Ours, number: usize| deliver(b, now, &records[number]).len();
    for (number, expected) in
        [(5, 1), (5, 0), (3, 1), (4, 1), (3, 0), (1027, 1), (4, 0), (6, 1), (1029, 1), (6, 0), (0, 0)]
    {
        assert_eq!(fresh(&mut net.b, number), expected, "{number}");
    }
    // The replay window also covers records other than data.
    let alert = net.a.sealed(content::ALERT, &[1, 100]);
    net.b.receive(now, alert.clone());
    net.b.receive(now, alert);
    assert!(net.b.is_connected());
}

#[test]
fn forgeries_change_nothing() {
    let mut net = connected();
    let now = net.now;
    let record = net.a.data(b"a little secret");
    for bit in 0..record.len() * 8 {
        let mut forged = record.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(deliver(&mut net.b, now, &forged).is_empty(), "bit {bit}");
    }
    for length in 0..record.len() {
        assert!(deliver(&mut net.b, now, &record[..length]).is_empty(), "length {length}");
        // Truncated, with a consistent header.
        let mut short = record[..length].to_vec();
        if let Some(bytes) = short.get_mut(11..13) {
            bytes.copy_from_slice(&((length - 13) as u16).to_be_bytes());
            assert!(deliver(&mut net.b, now, &short).is_empty(), "length {length}");
        }
    }
    // Our own record, reflected.
    assert!(deliver(&mut net.a, now, &record).is_empty());
    let other = connected().a.data(b"of another connection");
    assert!(deliver(&mut net.b, now, &other).is_empty());
    assert_eq!(deliver(&mut net.b, now, &record), [b"a little secret"]);
    assert_eq!((net.b.events.len(), net.b.transmit()), (1, None));
}

#[test]
fn plain_records_mean_nothing_when_connected() {
    let mut net = connected();
    let now = net.now;
    for (content, fragment) in [
        (content::APPLICATION_DATA, &b"in the clear"[..]),
        (content::ALERT, &[2, 40]),
        (content::ALERT, &[1, 0]),
        (content::CHANGE_CIPHER_SPEC, &[1]),
        (content::HANDSHAKE, &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0]),
        (content::HANDSHAKE, &[20, 0, 0, 12, 0, 4, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (24, b"heartbeat"),
    ] {
        for epoch in [0u64, 1, 2, 65_535] {
            let mut record = plain(content, 9, fragment);
            record[3..5].copy_from_slice(&(epoch as u16).to_be_bytes());
            assert!(deliver(&mut net.a, now, &record).is_empty());
            assert!(deliver(&mut net.b, now, &record).is_empty());
        }
    }
    assert_eq!((net.a.events.len(), net.b.events.len()), (1, 1));
    assert_eq!((net.a.transmit(), net.b.transmit()), (None, None));
    assert!(net.a.is_connected() && net.b.is_connected());
}

#[test]
fn close_notify_ends_both() {
    let mut net = connected();
    net.a.dtls.close();
    net.a.dtls.close();
    let alert = net.a.transmit().unwrap();
    assert_eq!((shape(&alert), net.a.transmit()), (vec![(content::ALERT, 1)], None));
    net.b.receive(net.now, alert);
    assert_eq!(net.b.events, [DtlsEvent::Connected, DtlsEvent::Closed]);
    assert_eq!(shape(&net.b.transmit().unwrap()), [(content::ALERT, 1)], "and answers");
    assert!(!net.a.is_connected() && !net.b.is_connected());
    assert_eq!(net.a.events, [DtlsEvent::Connected]);
}

#[test]
fn dimpl_hears_and_says_close_notify() {
    let now = Instant::now();
    for we_close in [true, false] {
        let mut net =
            Network::new(now, ours(Role::Client, now), Raw::new(Role::Server, &RawConfig::default(), now));
        net.connect(|_, _| on_time()).unwrap();
        if we_close {
            net.a.dtls.close();
        } else {
            net.b.dimpl.close().unwrap();
            net.b.drain();
        }
        net.run(Duration::from_secs(1), |_, _| on_time(), |_| true);
        assert!(net.b.closed && !net.a.is_connected(), "it hears ours, or our answer");
        assert_eq!(net.a.events.contains(&DtlsEvent::Closed), !we_close);
    }
}

#[test]
fn genuine_alerts() {
    for (alert, expected) in [
        (
            &[2, 80][..],
            Some(DtlsEvent::Failed(Error::Dtls("the peer sent alert 80 (internal_error)".into()))),
        ),
        (&[1, 90], None),
        (&[2], None),
        (&[9, 9], None),
        (&[], None),
    ] {
        says(connected(), alert, expected.as_ref());
    }
}

#[test]
fn a_connection_is_small_and_tells_no_secrets() {
    let net = connected();
    // In addition, two cipher contexts of 0.6 kB each, and the peer's certificate.
    assert!(size_of::<Dtls>() <= 304, "{}", size_of::<Dtls>());
    assert_eq!(format!("{:?}", net.a.dtls), "Dtls { state: \"Connected\", .. }");
    let State::Connected(connection) = &net.a.dtls.state else { panic!() };
    assert!(format!("{:?}", connection.protection).contains("write: Key { .. }, read: Key { .. }"));
    assert_eq!(net.a.dtls.transmits.capacity(), 0);
    let net = connected_with(Versions::Only13);
    let State::Connected13(session) = &net.a.dtls.state else { panic!() };
    assert!(format!("{session:?}").contains("EpochKey { .. }"));
    assert_eq!(net.a.dtls.transmits.capacity(), 0);
}
