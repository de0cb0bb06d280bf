//! A lite side.

use super::*;

#[test]
fn a_lite_side_answers_and_makes_no_checks() {
    let (full, lite) = (config(), Config { ice_lite: true, ..config() });
    for lite_at in 0..2 {
        let configs = if lite_at == 0 { [&lite, &full] } else { [&full, &lite] };
        let mut net = Net::new(configs);
        net.describe(1);
        net.describe(0);
        net.run(Duration::from_millis(100));
        assert!(net.selected().iter().all(Option::is_some), "{lite_at}");
        assert!(!net.sides[lite_at].controlling && net.sides[1 - lite_at].controlling);
        net.run(Duration::from_secs(120));
        assert!(net.sides.iter().all(|side| side.state() == IceState::Connected), "{lite_at}");
    }
}

/// A peer forges the source of a nominating check, or an attacker replays one from elsewhere. Only checks are
/// sent there, no more than requests came from there and two.
#[test]
fn a_lite_side_sends_data_to_no_unproven_address() {
    let (full, lite) = (config(), Config { ice_lite: true, ..config() });
    let victim = address("198.51.100.7:7");
    // after how long without consent of the path in use, which makes another valid path acceptable
    for silence in [Duration::ZERO, PATH_SILENCE + Duration::from_secs(1)] {
        let mut net = Net::new([&full, &lite]);
        net.describe(1);
        net.describe(0);
        net.run(Duration::from_secs(1));
        let [_, before] = net.selected();
        let local = net.sides[1].selected().unwrap().local;
        net.cut = !silence.is_zero();
        net.run(silence);
        // A check that nominates, as a controlling side sends it.
        let forged = forged_check(&net.sides[0]);
        let (requests, mut checks) = (5, 0);
        for _ in 0..requests {
            net.sides[1].handle_stun(net.now, Path { local, remote: victim }, &forged);
            for _ in 0..300 {
                net.now += Duration::from_millis(10);
                net.sides[1].handle_timeout(net.now);
                while let Some(datagram) = net.sides[1].poll_transmit() {
                    checks += usize::from(datagram.path.remote == victim && datagram.bytes[0] == 0);
                }
            }
            assert_eq!(net.selected()[1], before, "{silence:?}");
        }
        assert!((1..=requests + 2).contains(&checks), "{silence:?}: {checks}");
    }
}

/// A nominating check of this side, with its current credentials.
fn forged_check(from: &Ice) -> Vec<u8> {
    let remote = from.session.remote_credentials().unwrap();
    let username = format!("{}:{}", remote.ufrag, from.credentials().ufrag);
    let message = StunMessage::binding_request(
        &username,
        is::stun::TransId::new(),
        true,
        from.tie_breaker,
        u32::MAX >> 1,
        true,
    );
    let mut bytes = vec![0; 800];
    let hmac = |key: &[u8], payloads: &[&[u8]]| is::Sha1HmacProvider::sha1_hmac(&AwsLcHmac, key, payloads);
    let length = message.to_bytes(Some(remote.pass.as_bytes()), &mut bytes, hmac).unwrap();
    bytes.truncate(length);
    bytes
}

/// The NAT of a full side assigns another address; its lite peer follows within a round trip of the check that
/// shows it.
#[test]
fn a_lite_side_follows_to_a_proven_address() {
    let (full, lite) = (config(), Config { ice_lite: true, ..config() });
    let mut net = Net::new([&lite, &full]);
    net.describe(1);
    net.describe(0);
    net.run(Duration::from_secs(1));
    let moved = address("203.0.113.9:4000");
    net.nat = Some(moved);
    net.run(Duration::from_secs(30));
    assert_eq!(net.selected(), [Some(moved), Some(address("192.0.2.1:1000"))]);
    assert!(net.sides.iter().all(|side| side.state() == IceState::Connected));
    // An answer from another address than the check went to proves nothing.
    let again = address("203.0.113.9:4001");
    let forged = forged_check(&net.sides[1]);
    let local = net.sides[0].selected().unwrap().local;
    net.sides[0].handle_stun(net.now, Path { local, remote: again }, &forged);
    let check = std::iter::from_fn(|| net.sides[0].poll_transmit()).find(|it| it.bytes[0] == 0).unwrap();
    assert_eq!(check.path.remote, again);
    let host = net.sides[1].locals[0].address;
    net.sides[1].handle_stun(net.now, Path { local: host, remote: local }, &check.bytes);
    let answer = std::iter::from_fn(|| net.sides[1].poll_transmit()).find(|it| it.bytes[0] == 1).unwrap();
    for from in [moved, again] {
        net.sides[0].handle_stun(net.now, Path { local, remote: from }, &answer.bytes);
        assert_eq!(net.selected()[0], Some(from));
    }
}
