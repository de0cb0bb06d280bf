//! Datagrams that anyone can send may cost a retransmission, never the connection.

use proptest::prelude::*;

use super::*;

/// Noise that an attacker can derive from a genuine datagram, or invent.
fn noise(genuine: &[u8]) -> Vec<Vec<u8>> {
    let mut noise = vec![
        vec![],
        vec![22],
        vec![0; 1200],
        vec![255; 1200],
        plain(content::ALERT, 77, &[2, 40]),
        plain(content::ALERT, 77, &[1, 0]),
        plain(content::ALERT, 77, &[]),
        plain(content::CHANGE_CIPHER_SPEC, 78, &[1]),
        plain(content::CHANGE_CIPHER_SPEC, 79, &[2]),
        plain(content::APPLICATION_DATA, 80, b"data"),
        // A second ClientHello or ServerHello, complete and in fragments; messages that DTLS 1.3 encrypts.
        plain(content::HANDSHAKE, 85, &[&[1, 0, 0, 60, 0, 1, 0, 0, 0, 0, 0, 60][..], &[3; 60]].concat()),
        plain(content::HANDSHAKE, 86, &[&[2, 0, 0, 60, 0, 1, 0, 0, 0, 0, 0, 60][..], &[3; 60]].concat()),
        plain(content::HANDSHAKE, 87, &[&[2, 0, 0, 60, 0, 1, 0, 0, 9, 0, 0, 4][..], &[3; 4]].concat()),
        plain(content::HANDSHAKE, 88, &[&[8, 0, 0, 4, 0, 1, 0, 0, 0, 0, 0, 4][..], &[3; 4]].concat()),
        // Finished in plaintext, messages of the other side, far ahead, empty.
        plain(
            content::HANDSHAKE,
            81,
            &[20, 0, 0, 12, 0, 4, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ),
        plain(content::HANDSHAKE, 82, &[14, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0]),
        plain(content::HANDSHAKE, 83, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        plain(content::HANDSHAKE, 84, &[]),
    ];
    // Of DTLS 1.3: every form and epoch, with and without an id.
    for flags in 0x20..0x40 {
        noise.push([&[flags, 0, 1, 0, 40][..], &[0x5A; 40]].concat());
        noise.push([&[flags, 0, 1][..], &[0x5A; 13]].concat());
    }
    // Records encrypted with other keys: numbers near the expected ones, and far ahead.
    for (content, number) in [(20, 0), (21, 0), (22, 0), (22, 1), (22, 1 << 40), (23, 0), (23, 5), (24, 0)] {
        let mut record = plain(content, number, &[0xA5; 64]);
        record[4] = 1;
        noise.push(record);
    }
    noise.extend((1..genuine.len()).step_by(29).map(|length| genuine[..length].to_vec()));
    // Records with another type, version, epoch or length.
    for (at, with) in [(0, 23), (0, 99), (1, 3), (2, 0), (3, 1), (4, 1), (4, 2), (11, 255), (12, 1)] {
        let mut copy = genuine.to_vec();
        copy[at] ^= with;
        noise.push(copy);
    }
    noise
}

/// All of it before each genuine datagram, to either side. It contains only what can be produced without the
/// keys; a message of epoch 0 that is valid except for its content breaks any DTLS 1.2 handshake.
#[test]
fn noise_before_each_datagram_is_harmless() {
    let config = RawConfig { mtu: 300, ..RawConfig::default() };
    let now = Instant::now();
    for noisy in [[true, false], [false, true], [true, true]] {
        for versions in [Versions::Only12, Versions::Only13, Versions::Both] {
            let [a, b] = [Role::Client, Role::Server].map(|role| Ours::new(versions, role, now));
            let mut net = Network::new(now, a, b);
            disturb(&mut net, noisy);
            assert!(net.a.is_connected() && net.b.is_connected(), "{:?} {:?}", net.a.events, net.b.events);
            net.connect(|_, _| on_time()).unwrap();
        }
    }
    for versions in [Versions::Only12, Versions::Only13] {
        let config = RawConfig { mtu: 300, versions, ..RawConfig::default() };
        let mut net = Network::new(
            now,
            Raw::new(Role::Client, &config, now),
            Ours::new(Versions::Both, Role::Server, now),
        );
        disturb(&mut net, [false, true]);
        assert!(net.b.is_connected(), "{:?}", net.b.events);
        let mut net = Network::new(
            now,
            Ours::new(Versions::Both, Role::Client, now),
            Raw::new(Role::Server, &config, now),
        );
        disturb(&mut net, [true, false]);
        assert!(net.a.is_connected(), "{:?}", net.a.events);
    }
    let mut net = Network::new(now, Raw::new(Role::Client, &config, now), ours(Role::Server, now));
    disturb(&mut net, [false, true]);
    assert!(net.b.is_connected(), "{:?}", net.b.events);
    let mut net = Network::new(now, ours(Role::Client, now), Raw::new(Role::Server, &config, now));
    disturb(&mut net, [true, false]);
    assert!(net.a.is_connected(), "{:?}", net.a.events);
}

/// Delivers every datagram at once, after noise if the receiver's side is noisy.
fn disturb<A: Peer, B: Peer>(net: &mut Network<A, B>, noisy: [bool; 2]) {
    for _ in 0..20 {
        let mut moved = false;
        while let Some(datagram) = net.a.transmit() {
            let noise = if noisy[1] { noise(&datagram) } else { Vec::new() };
            noise.into_iter().chain([datagram]).for_each(|datagram| net.b.receive(net.now, datagram));
            moved = true;
        }
        while let Some(datagram) = net.b.transmit() {
            let noise = if noisy[0] { noise(&datagram) } else { Vec::new() };
            noise.into_iter().chain([datagram]).for_each(|datagram| net.a.receive(net.now, datagram));
            moved = true;
        }
        if !moved {
            net.tick();
        }
    }
}

#[test]
fn a_bad_client_hello_is_forgotten() {
    let now = Instant::now();
    let good = ours(Role::Client, now).transmit().unwrap();
    let find = |what: &[u8]| good.windows(what.len()).position(|window| window == what).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut copy = good.clone();
        copy[at..at + bytes.len()].copy_from_slice(bytes);
        copy
    };
    let suites = find(&[0xC0, 0x2B, 0xC0, 0x2C, 0xCC, 0xA9]);
    // Extended master secret: an extension of no bytes.
    let master_secret = find(&[0, 23, 0, 0]);
    let body = HEADER_BYTES + 12;
    // A fragment without the rest.
    let mut piece = good[..body + 40].to_vec();
    piece[11..13].copy_from_slice(&[0, 12 + 40]);
    piece[body - 1] = 40;
    for (what, mut bad) in [
        ("version", with(body, &[254, 255])),
        ("suites", with(suites, &[0, 1, 0, 2, 0, 3])),
        ("compression", with(suites + 7, &[9])),
        ("no extended master secret", with(master_secret, &[0xAA, 0xAA])),
        ("length of the session id", with(body + 34, &[33])),
        ("length of the extensions", with(suites + 8, &[255, 255])),
        ("a piece", piece),
    ] {
        let mut net = Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
        for again in 0..5 {
            bad[10] = again;
            net.b.receive(now, bad.clone());
            assert_eq!(net.b.transmit(), None, "{what}");
        }
        // A long silence does not end it either.
        net.now += Duration::from_secs(60);
        net.b.timeout(net.now);
        net.a = ours(Role::Client, net.now);
        net.connect(|_, _| on_time()).unwrap_or_else(|why| panic!("{what}: {why}"));
    }
}

/// A plaintext fatal alert takes effect only if the peer is silent afterwards.
#[test]
fn plain_alerts() {
    let now = Instant::now();
    let alert = plain(content::ALERT, 5, &[2, 40]);
    for after in 0..4 {
        let mut net = Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
        let both = alert.clone();
        net.run(Duration::from_secs(1), |_, _| on_time(), |net| net.sent > after);
        net.a.receive(net.now, both.clone());
        net.b.receive(net.now, both);
        net.connect(|_, _| on_time()).unwrap();
    }
    let mut client = ours(Role::Client, now);
    client.receive(now, alert.clone());
    client.timeout(client.deadline().unwrap());
    assert_eq!(
        client.events,
        [DtlsEvent::Failed(Error::Dtls("the peer sent alert 40 (handshake_failure)".into()))]
    );
    // An alert before the first flight has no effect.
    let mut server = ours(Role::Server, now);
    server.receive(now, alert);
    server.timeout(now + Duration::from_secs(10));
    assert_eq!((server.events.len(), server.deadline()), (0, None));
}

#[test]
fn early_records_are_bounded() {
    let now = Instant::now();
    for bytes in [1, 10_000] {
        let mut client = ours(Role::Client, now);
        for number in 0..100 {
            let mut record = plain(content::APPLICATION_DATA, number, &vec![0; bytes]);
            record[4] = 1;
            client.receive(now, record);
        }
        let State::Handshake(handshake) = &client.dtls.state else { panic!() };
        let kept = handshake.early_bytes();
        assert!(kept <= 16_384 && kept >= bytes, "{kept}");
    }
}

/// One bit of one handshake datagram is flipped: the handshake fails or succeeds, and neither side accepts
/// wrong data.
#[test]
fn a_flipped_bit_in_the_handshake_is_detected() {
    let now = Instant::now();
    let (mut failed, mut connected) = (0, 0);
    for datagram in 0..4 {
        for at in (0..600).step_by(23) {
            let mut net = Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
            let mut seen = 0;
            // Delivered directly, since the network cannot modify datagrams.
            for _ in 0..60 {
                let a_to_b: Vec<_> = std::iter::from_fn(|| net.a.transmit()).map(|d| (true, d)).collect();
                let b_to_a: Vec<_> = std::iter::from_fn(|| net.b.transmit()).map(|d| (false, d)).collect();
                if a_to_b.is_empty() && b_to_a.is_empty() {
                    net.tick();
                }
                for (to_b, mut bytes) in a_to_b.into_iter().chain(b_to_a) {
                    if seen == datagram && at < bytes.len() {
                        bytes[at] ^= 0x10;
                    }
                    seen += 1;
                    let to = if to_b { &mut net.b } else { &mut net.a };
                    to.receive(net.now, bytes);
                }
            }
            match (net.a.is_connected(), net.b.is_connected()) {
                (true, true) => {
                    net.connect(|_, _| on_time()).unwrap();
                    connected += 1;
                }
                _ => failed += 1,
            }
        }
    }
    assert!(connected > 20 && failed > 5, "{connected} {failed}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same of DTLS 1.3, with any header.
    #[test]
    fn random_protected_records(
        records in prop::collection::vec((0u8..32, prop::collection::vec(any::<u8>(), 0..80)), 0..40),
        after in 0usize..5,
    ) {
        let now = Instant::now();
        let [a, b] = [Role::Client, Role::Server].map(|role| Ours::new(Versions::Both, role, now));
        let mut net = Network::new(now, a, b);
        net.run(Duration::from_secs(1), |_, _| on_time(), |net| net.sent > after || net.b.is_connected());
        for (flags, mut record) in records {
            record.insert(0, 0x20 | flags);
            net.a.receive(net.now, record.clone());
            net.b.receive(net.now, record);
        }
        prop_assert!(net.connect(|_, _| on_time()).is_ok());
    }

    /// Random bytes in the form of records, at any time during a handshake: no panic, no event, and it
    /// continues.
    #[test]
    fn random_records(
        records in prop::collection::vec((20u8..26, 0u16..3, 0u64..6, prop::collection::vec(any::<u8>(), 0..80)), 0..40),
        after in 0usize..5,
    ) {
        let now = Instant::now();
        let mut net = Network::new(now, ours(Role::Client, now), ours(Role::Server, now));
        net.run(Duration::from_secs(1), |_, _| on_time(), |net| net.sent > after || net.b.is_connected());
        for (content, epoch, number, fragment) in records {
            let mut record = plain(content, number, &fragment);
            record[3..5].copy_from_slice(&epoch.to_be_bytes());
            net.a.receive(net.now, record.clone());
            net.b.receive(net.now, record);
        }
        prop_assert!(net.connect(|_, _| on_time()).is_ok());
    }
}
