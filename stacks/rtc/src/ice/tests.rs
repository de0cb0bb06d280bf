//! Two sides over a network with a fixed delay, and messages of others.

mod lite;

use std::sync::Arc;

use is::Sha1HmacProvider;
use proptest::prelude::*;
use rand_chacha::rand_core::SeedableRng;

use super::session::AwsLcHmac;
use super::*;
use crate::dtls::Certificate;
use crate::sdp::RelayProtocol;

const DELAY: Duration = Duration::from_millis(10);

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn config() -> Config {
    Config::new(Arc::new(Certificate::generate().unwrap()))
}

fn ice(config: &Config, seed: u8, local: &str, now: Instant) -> Ice {
    let mut ice = Ice::new(config, ChaCha20Rng::from_seed([seed; 32]));
    ice.add_local(now, address(local));
    ice
}

/// Two sides and the datagrams in transit between them.
struct Net {
    now: Instant,
    sides: [Ice; 2],
    flying: Vec<(Instant, usize, Datagram)>,
    /// The public address of the second side, if it is behind a NAT.
    nat: Option<SocketAddr>,
    /// Datagrams from this address of the second side are dropped.
    shut: Option<SocketAddr>,
    /// Nothing is delivered any more.
    cut: bool,
}

impl Net {
    fn new(configs: [&Config; 2]) -> Self {
        let now = Instant::now();
        let sides = [ice(configs[0], 1, "192.0.2.1:1000", now), ice(configs[1], 2, "192.0.2.2:2000", now)];
        Self { now, sides, flying: Vec::new(), nat: None, shut: None, cut: false }
    }

    /// Passes one side the description of the other, with candidates.
    fn describe(&mut self, to: usize) {
        let other = &self.sides[1 - to];
        let (credentials, candidates) = (other.credentials().clone(), other.local_candidates().to_vec());
        let remote = Remote { ufrag: &credentials.ufrag, password: &credentials.pass, lite: other.lite };
        let candidates = if self.nat.is_none() { &candidates[..] } else { &[] };
        self.sides[to].start(self.now, remote, to == 0, candidates);
    }

    fn step(&mut self, until: Instant) {
        for from in 0..2 {
            while let Some(datagram) = self.sides[from].poll_transmit() {
                if !self.cut && Some(datagram.path.local) != self.shut {
                    self.flying.push((self.now + DELAY, 1 - from, datagram));
                }
            }
        }
        let timers = self.sides.iter().filter_map(Ice::next_deadline);
        let next = timers.chain(self.flying.iter().map(|(at, ..)| *at)).min().unwrap_or(until).min(until);
        self.now = self.now.max(next);
        let (due, later) = std::mem::take(&mut self.flying).into_iter().partition(|(at, ..)| *at <= self.now);
        self.flying = later;
        for (_, to, datagram) in due {
            let Path { mut local, mut remote } = datagram.path;
            if to == 0 && local == self.sides[1].locals[0].address {
                local = self.nat.unwrap_or(local);
            } else if Some(remote) == self.nat {
                remote = self.sides[1].locals[0].address;
            }
            let path = Path { local: remote, remote: local };
            self.sides[to].handle_stun(self.now, path, &datagram.bytes);
        }
        for side in &mut self.sides {
            if side.next_deadline().is_some_and(|at| at <= self.now) {
                side.handle_timeout(self.now);
            }
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step(until);
        }
    }

    fn selected(&self) -> [Option<SocketAddr>; 2] {
        [0, 1].map(|side| self.sides[side].selected().map(|path| path.remote))
    }
}

#[test]
fn both_have_a_pair_after_one_and_a_half_round_trips() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    // The answerer sends checks at once; its answer takes as long as they do.
    net.describe(1);
    net.run(DELAY);
    net.describe(0);
    net.run(DELAY);
    assert_eq!(net.selected(), [None, Some(address("192.0.2.1:1000"))]);
    net.run(DELAY);
    assert_eq!(net.selected()[0], Some(address("192.0.2.2:2000")));
    assert!(net.sides.iter().all(|side| side.state() == IceState::Connected));
}

#[test]
fn checks_that_come_before_the_answer_are_answered_with_it() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.describe(1);
    net.run(Duration::from_secs(2));
    assert_eq!(net.selected(), [None, None]);
    net.describe(0);
    net.run(DELAY * 2);
    assert!(net.selected().iter().all(Option::is_some));
}

#[test]
fn an_address_behind_a_nat_is_learned_from_its_checks() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.nat = Some(address("203.0.113.9:4000"));
    net.describe(0);
    net.nat = None;
    net.describe(1);
    net.nat = Some(address("203.0.113.9:4000"));
    net.run(Duration::from_secs(1));
    assert_eq!(net.selected(), [Some(address("203.0.113.9:4000")), Some(address("192.0.2.1:1000"))]);
    // The NAT assigns another address: the first side follows once the old pair is silent.
    net.run(Duration::from_secs(60));
    net.nat = Some(address("203.0.113.9:4001"));
    net.run(Duration::from_secs(14));
    assert_eq!(net.selected()[0], Some(address("203.0.113.9:4001")));
}

/// Its check has a higher priority than a reflexive address (RFC 8445 section 7.1.1), whatever its type, and
/// whether the peer signals it with its description or later.
#[test]
fn a_relay_known_from_a_check_before_it_is_signalled_is_a_relay() {
    for (is_late, controlling) in [(false, 0), (true, 0), (true, 1)] {
        let config = config();
        let mut net = Net::new([&config, &config]);
        let (seen, host) = (address("203.0.113.9:4000"), address("192.0.2.2:2000"));
        assert!(net.sides[1].add_reflexive(net.now, seen, host));
        assert!(net.sides[1].add_relayed(net.now, address("198.51.100.1:5000"), RelayProtocol::Udp));
        let describe = |net: &mut Net, to: usize, candidates: &[Candidate]| {
            let credentials = net.sides[1 - to].credentials().clone();
            let remote = Remote { ufrag: &credentials.ufrag, password: &credentials.pass, lite: false };
            net.sides[to].start(net.now, remote, to == controlling, candidates);
        };
        let near = net.sides[0].local_candidates().to_vec();
        describe(&mut net, 1, &near);
        (net.nat, net.shut) = (Some(seen), Some(host));
        net.run(DELAY * 3);
        let candidates = net.sides[1].local_candidates().to_vec();
        if is_late {
            describe(&mut net, 0, &[]);
            net.run(Duration::from_secs(1));
            for candidate in &candidates[1..] {
                net.sides[0].add_remote(net.now, candidate).unwrap();
            }
        } else {
            describe(&mut net, 0, &candidates[1..]);
        }
        net.shut = None;
        net.run(Duration::from_secs(20));
        let expected = [Some(seen), Some(address("192.0.2.1:1000"))];
        assert_eq!(net.selected(), expected, "late: {is_late}, {controlling}");
        assert_eq!(
            net.sides[1].selected().map(|path| path.local),
            Some(host),
            "late: {is_late}, {controlling}"
        );
    }
}

/// As after a cable is reconnected.
#[test]
fn a_removed_address_is_used_again() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.describe(1);
    net.describe(0);
    net.run(Duration::from_secs(60));
    let before = net.sides[0].selected();
    let local = before.unwrap().local;
    net.sides[0].remove_local(net.now, local);
    assert!(net.sides[0].is_silent(net.now) && net.sides[0].local_candidates().is_empty());
    assert!(net.sides[0].add_local(net.now, local));
    net.run(Duration::from_secs(1));
    assert!(net.sides[0].selected() == before && !net.sides[0].is_silent(net.now));
}

#[test]
fn two_controlling_sides_agree() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.describe(0);
    let credentials = net.sides[0].credentials().clone();
    let remote = Remote { ufrag: &credentials.ufrag, password: &credentials.pass, lite: false };
    net.sides[1].start(net.now, remote, true, &[]);
    net.run(Duration::from_secs(2));
    assert!(net.selected().iter().all(Option::is_some));
}

#[test]
fn consent_is_lost_in_silence() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.describe(1);
    net.describe(0);
    net.run(Duration::from_secs(60));
    assert!(net.sides.iter().all(|side| side.state() == IceState::Connected));
    net.cut = true;
    net.run(Duration::from_secs(17));
    assert!(net.sides.iter().all(|side| side.state() == IceState::Disconnected));
    net.cut = false;
    net.run(Duration::from_secs(6));
    assert!(net.sides.iter().all(|side| side.state() == IceState::Connected));
    net.cut = true;
    net.run(Duration::from_secs(31));
    assert!(net.sides.iter().all(|side| side.failure().is_some()));
}

/// Consent requests are 4 to 6 s apart: whatever timeout is configured, the loss of one must not end a
/// healthy connection.
#[test]
fn a_short_consent_timeout_does_not_end_a_healthy_connection() {
    let mut config = config();
    config.consent_timeout = Duration::from_secs(1);
    let mut net = Net::new([&config, &config]);
    net.describe(1);
    net.describe(0);
    for _ in 0..20 {
        net.run(Duration::from_secs(20));
        // Unless two consecutive consent requests of one side are lost.
        net.cut = true;
        net.run(Duration::from_millis(3900));
        net.cut = false;
        assert!(net.sides.iter().all(|side| side.failure().is_none()));
    }
    net.cut = true;
    net.run(Duration::from_secs(16));
    assert!(net.sides.iter().all(|side| side.failure().is_some()));
}

#[test]
fn strangers_are_not_flooded_with_checks() {
    let config = config();
    // candidates of an offer -> maximum number of checks in 30 s
    for (candidates, most) in [(1_u16, 7), (8, 56), (64, 256)] {
        let mut net = Net::new([&config, &config]);
        let remote = Remote { ufrag: "made", password: "upmadeupmadeupmadeup12", lite: false };
        net.sides[1].start(net.now, remote, false, &[]);
        for port in 1..=candidates {
            let line = format!("candidate:1 1 udp {port} 198.51.100.7 {port} typ host");
            net.sides[1].add_remote(net.now, &Candidate::parse(&line).unwrap().unwrap()).unwrap();
        }
        let mut checks = 0;
        for _ in 0..3100 {
            net.sides[1].handle_timeout(net.now);
            checks += std::iter::from_fn(|| net.sides[1].poll_transmit()).count();
            net.now += Duration::from_millis(10);
        }
        assert!((usize::from(candidates)..=most).contains(&checks), "{candidates}: {checks}");
    }
}

#[test]
fn checks_without_an_answer_fail() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.describe(0);
    net.cut = true;
    net.run(Duration::from_secs(29));
    assert_eq!(net.sides[0].state(), IceState::Checking);
    net.run(Duration::from_secs(2));
    assert_eq!(net.sides[0].failure(), Some(Error::Ice("no candidate pair works")));
}

#[test]
fn a_restart_keeps_the_old_pair_until_there_is_a_new_one() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.describe(1);
    net.describe(0);
    net.run(Duration::from_secs(1));
    let before = net.sides[0].credentials().clone();
    net.sides[0].restart();
    assert_ne!(net.sides[0].credentials(), &before);
    // Signalling takes time; the old session requests consent and answers.
    net.run(Duration::from_secs(60));
    assert!(net.sides.iter().all(|side| side.state() == IceState::Connected && side.selected().is_some()));
    net.sides[1].restart();
    net.describe(1);
    net.describe(0);
    net.run(Duration::from_secs(1));
    assert!(net.sides.iter().all(|side| side.restarted.is_none() && side.state() == IceState::Connected));
    net.run(Duration::from_secs(60));
    assert!(net.sides.iter().all(|side| side.state() == IceState::Connected));
}

#[test]
fn datagrams_in_flight_during_a_restart_are_accepted() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.describe(1);
    net.describe(0);
    net.run(Duration::from_secs(1));
    net.sides.iter_mut().for_each(Ice::restart);
    net.nat = Some(address("203.0.113.9:4001"));
    net.describe(0);
    net.nat = None;
    net.describe(1);
    net.nat = Some(address("203.0.113.9:4001"));
    net.run(Duration::from_secs(1));
    assert_eq!(net.selected()[0], net.nat);
    assert!(net.sides[0].restarted.is_none() && net.sides[0].is_validated(address("192.0.2.2:2000")));
}

#[test]
fn messages_without_integrity_change_nothing() {
    let config = config();
    let mut net = Net::new([&config, &config]);
    net.describe(1);
    net.describe(0);
    let stranger = Path { local: address("192.0.2.2:2000"), remote: address("198.51.100.66:6666") };
    while let Some(datagram) = net.sides[0].poll_transmit() {
        for at in 20..datagram.bytes.len() - 8 {
            let mut bytes = datagram.bytes.clone();
            bytes[at] ^= 1;
            assert!(!net.sides[1].accepts(&bytes), "{at}");
            net.sides[1].handle_stun(net.now, stranger, &bytes);
        }
        assert!(!net.sides[1].has_validated());
        assert!(net.sides[1].accepts(&datagram.bytes));
    }
}

#[test]
fn addresses_learned_from_the_peer_are_bounded() {
    let mut config = config();
    config.limits.max_remote_candidates = 8;
    let mut net = Net::new([&config, &config]);
    net.describe(1);
    net.describe(0);
    let check = net.sides[0].poll_transmit().unwrap();
    for port in 1..2000 {
        let path =
            Path { local: address("192.0.2.2:2000"), remote: SocketAddr::new([10, 0, 0, 1].into(), port) };
        net.sides[1].handle_stun(net.now, path, &check.bytes);
    }
    let validated =
        (1..2000).filter(|port| net.sides[1].is_validated(SocketAddr::new([10, 0, 0, 1].into(), *port)));
    // One of the eight is the signalled candidate.
    assert_eq!(validated.count(), 7);
    assert!(net.sides[1].transmits.len() < 20);
    let more = Candidate::parse("candidate:1 1 udp 1 10.9.9.9 1 typ host").unwrap().unwrap();
    assert_eq!(net.sides[1].add_remote(net.now, &more), Err(SignalingError::Limit("candidates")));
}

#[test]
fn hmac_as_of_rfc_2202() {
    let digest = AwsLcHmac.sha1_hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
}

proptest! {
    #[test]
    fn no_datagram_makes_it_panic(tail: Vec<u8>, at in 0..100usize, byte: u8) {
        let config = config();
        let mut net = Net::new([&config, &config]);
        net.describe(1);
        net.describe(0);
        let mut bytes = net.sides[0].poll_transmit().unwrap().bytes;
        let path = Path { local: address("192.0.2.2:2000"), remote: address("192.0.2.1:1000") };
        let header = [&bytes[..2], &((tail.len() as u16) & !3).to_be_bytes(), &bytes[4..20], &tail].concat();
        let whole = header.len() & !3;
        net.sides[1].handle_stun(net.now, path, &header[..whole]);
        let at = at % bytes.len();
        bytes[at] = byte;
        net.sides[1].handle_stun(net.now, path, &bytes);
    }
}
