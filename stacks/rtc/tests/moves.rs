//! A peer whose address changes is followed; an attacker is not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod common;

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use common::{Net, address};
use netdyno_rtc_core::{ChannelId, ChannelOptions, Kind, PeerState};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The address that the NAT of a side assigns.
fn elsewhere(port: u16) -> SocketAddr {
    SocketAddr::new([203, 0, 113, 9].into(), port)
}

fn is_stun(bytes: &[u8]) -> bool {
    bytes[0] < 4
}

fn is_answer(bytes: &[u8]) -> bool {
    bytes[0] == 1
}

/// A connected pair; `mover` is behind a NAT from now on, which assigns the port in the cell, 0 for none.
/// Datagrams to an address that the NAT does not use now are lost.
fn behind_nat(mover: usize, delay: Duration) -> (Net, [ChannelId; 2], Rc<Cell<u16>>) {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    // Until only consent is exchanged.
    net.run(Duration::from_secs(100));
    net.delay = delay;
    net.run(Duration::from_secs(30));
    let port = Rc::new(Cell::new(0));
    let at = Rc::clone(&port);
    net.filter = Some(Box::new(move |flying| {
        let shown = if at.get() == 0 { address(mover) } else { elsewhere(at.get()) };
        if flying.from == mover {
            flying.local = shown;
            return true;
        }
        let arrives = flying.remote == shown;
        flying.remote = address(mover);
        arrives
    }));
    (net, channels, port)
}

/// For a mover and what it sends first: the time from that datagram until the other side's data arrives.
fn time_to_follow(mover: usize, sends: bool, delay: Duration) -> Duration {
    let (mut net, channels, port) = behind_nat(mover, delay);
    port.set(4001);
    let before = net.messages[mover].len();
    if sends {
        net.send(mover, channels[mover], Kind::Text, b"from elsewhere");
    } else {
        // The next consent request.
        let sent = net.sent[mover];
        net.run_until(|net| net.sent[mover] > sent);
    }
    let first = net.now;
    net.send(1 - mover, channels[1 - mover], Kind::Text, b"to elsewhere");
    net.run_until(|net| net.messages[mover].len() > before);
    assert_eq!(net.messages[1 - mover].len(), usize::from(sends));
    assert!(net.peers.iter().all(|peer| peer.state() == PeerState::Connected));
    net.now - first
}

/// One way, a round trip of check and answer, and one way for the data.
#[test]
fn data_follows_within_a_round_trip() {
    println!("| round trip | who moves | sends | followed within |\n|---|---|---|---|");
    for round_trip_ms in [1_u64, 20, 100] {
        let delay = Duration::from_micros(round_trip_ms * 500);
        for (mover, sends) in [(0, true), (1, true), (0, false), (1, false)] {
            let time = time_to_follow(mover, sends, delay);
            // The one-way delays of the first datagram and of the data add up to a round trip.
            let followed = time - delay * 2;
            let (who, what) = (["controlling", "controlled"][mover], ["a check", "data"][usize::from(sends)]);
            println!("| {round_trip_ms} ms | {who} | {what} | {:.1} ms |", followed.as_secs_f64() * 1e3);
            // A check that does not nominate only shows that the peer may be there: the old address gets time
            // to answer.
            let grace = if sends { Duration::ZERO } else { delay / 2 + Duration::from_millis(12) };
            assert!(followed <= delay * 2 + grace + Duration::from_millis(2), "{who}, {what}: {followed:?}");
        }
    }
}

/// A check to its old address is answered from its new one.
#[test]
fn an_answer_from_another_address_proves_nothing() {
    let delay = Duration::from_millis(10);
    let (mut net, channels, port) = behind_nat(0, delay);
    let sent = net.sent[1];
    net.run_until(|net| net.sent[1] > sent);
    port.set(4001);
    net.run(delay * 2);
    net.send(0, channels[0], Kind::Text, b"from elsewhere");
    net.send(1, channels[1], Kind::Text, b"to elsewhere");
    let first = net.now;
    net.run_until(|net| !net.messages[0].is_empty());
    assert!(net.now - first <= delay * 4 + Duration::from_millis(6), "{:?}", net.now - first);
}

/// RFC 9000 section 9.4: another address is another path, whose round trip is measured anew; another port alone
/// is the same one.
#[test]
fn a_new_address_is_measured_anew_and_a_new_port_is_not() {
    let (mut net, channels, port) = behind_nat(0, Duration::from_millis(10));
    let ms = Duration::from_millis;
    let send_and_measure = |net: &mut Net| {
        net.send(0, channels[0], Kind::Text, b"from here");
        net.run(ms(400));
        net.send(1, channels[1], Kind::Text, b"back");
        net.run(ms(300));
        net.peers[1].stats().sctp.smoothed_rtt.unwrap()
    };
    let near = send_and_measure(&mut net);
    assert!(near < ms(45), "{near:?}");
    net.delay = ms(50);
    port.set(4001);
    let far = send_and_measure(&mut net);
    assert!(far >= ms(100), "{far:?}");
    net.delay = ms(10);
    port.set(4002);
    let same = send_and_measure(&mut net);
    assert!(same > ms(45), "{same:?}");
}

/// Only checks, at most three, are sent to a forged address, and data continues on the old path.
#[test]
fn a_copied_datagram_moves_nothing() {
    let (mut net, channels, _) = behind_nat(0, Duration::from_millis(10));
    let (victim, at_victim) = (elsewhere(6666), Rc::new(Cell::new((0, 0))));
    let seen = Rc::clone(&at_victim);
    let mut nat = net.filter.take().unwrap();
    let mut is_copied = false;
    net.filter = Some(Box::new(move |flying| {
        if flying.from == 0 && !is_stun(&flying.bytes) && !is_copied {
            // An attacker delivers a copy first; the original is then a replay.
            (flying.local, is_copied) = (victim, true);
            return true;
        }
        if flying.remote == victim {
            let (checks, others) = seen.get();
            let is_check = is_stun(&flying.bytes);
            seen.set((checks + u32::from(is_check), others + u32::from(!is_check)));
            return false;
        }
        nat(flying)
    }));
    net.send(0, channels[0], Kind::Text, b"copied");
    for _ in 0..30 {
        net.send(0, channels[0], Kind::Text, b"there");
        net.send(1, channels[1], Kind::Text, b"back");
        net.run(Duration::from_secs(1));
    }
    let (checks, others) = at_victim.get();
    assert_eq!(checks, 3);
    assert_eq!((others, net.messages[0].len(), net.messages[1].len()), (0, 30, 31));
}

/// Old, replayed or forged datagrams do not even cause a check.
#[test]
fn only_authentic_new_datagrams_are_examined() {
    let (mut net, channels, _) = behind_nat(0, Duration::from_millis(10));
    let kept = Rc::new(std::cell::RefCell::new(Vec::new()));
    let keeps = Rc::clone(&kept);
    let mut nat = net.filter.take().unwrap();
    net.filter = Some(Box::new(move |flying| {
        if flying.from == 0 && !is_stun(&flying.bytes) {
            keeps.borrow_mut().push(flying.bytes.clone());
        }
        nat(flying)
    }));
    net.send(0, channels[0], Kind::Text, b"one");
    net.run(Duration::from_secs(1));
    let mut old = kept.borrow()[0].clone();
    let stranger = elsewhere(7777);
    let sent = net.sent[1];
    assert!(!net.peers[1].accepts_dtls(&old), "it has come");
    net.peers[1].handle_datagrams(net.now, address(1), stranger, &mut old, 2000);
    // The next datagram, modified in transit.
    kept.borrow_mut().clear();
    net.filter = Some({
        let keeps = Rc::clone(&kept);
        Box::new(move |flying| {
            if flying.from == 0 && !is_stun(&flying.bytes) {
                keeps.borrow_mut().push(flying.bytes.clone());
            }
            flying.from == 0 && is_stun(&flying.bytes)
        })
    });
    net.send(0, channels[0], Kind::Text, b"two");
    net.collect();
    let new = kept.borrow()[0].clone();
    assert!(net.peers[1].accepts_dtls(&new) && !net.peers[0].accepts_dtls(&new));
    for at in 0..new.len() {
        let mut bent = new.clone();
        bent[at] ^= 1;
        assert!(!net.peers[1].accepts_dtls(&bent), "{at}");
        assert!(!net.peers[1].accepts_dtls(&new[..at]), "{at}");
        net.peers[1].handle_datagrams(net.now, address(1), stranger, &mut bent, 2000);
    }
    net.collect();
    assert_eq!(net.sent[1], sent, "nothing was sent to whoever that is");
    let taken = net.messages[1].len();
    net.peers[1].handle_datagrams(net.now, address(1), stranger, &mut new.clone(), 2000);
    net.collect();
    assert_eq!(net.messages[1].len(), taken + 1, "what is the peer's is taken");
    assert!(net.sent[1] > sent);
}

/// Checks from further addresses of a peer that is still reachable, one after the other: data stays.
#[test]
fn more_addresses_of_a_peer_that_has_not_moved_are_not_taken_for_a_move() {
    const MORE: u16 = 3;
    let more = |number: u16| SocketAddr::new([192, 0, 2, 77].into(), 5000 + number);
    for side in 0..2 {
        let (mut net, channels, _) = behind_nat(side, Duration::from_millis(10));
        let mut nat = net.filter.take().unwrap();
        let data_there = Rc::new(Cell::new(0));
        let counted = Rc::clone(&data_there);
        net.filter = Some(Box::new(move |flying| {
            let shown = |number| elsewhere(4002 + number);
            if let Some(number) = (0..MORE).find(|&number| flying.remote == shown(number)) {
                counted.set(counted.get() + u32::from(!is_stun(&flying.bytes)));
                flying.remote = more(number);
                return true;
            }
            if let Some(number) =
                (0..MORE).find(|&number| flying.from == side && flying.local == more(number))
            {
                flying.local = shown(number);
                return true;
            }
            nat(flying)
        }));
        for number in 0..MORE {
            net.peers[side].add_local_address(net.now, more(number));
            net.run(Duration::from_millis(50));
        }
        for _ in 0..20 {
            net.send(1 - side, channels[1 - side], Kind::Text, b"data");
            net.run(Duration::from_millis(100));
        }
        assert_eq!(net.messages[side].len(), 20);
        if side == 1 {
            // A controlling side with a further address may nominate it.
            assert_eq!(data_there.get(), 0);
        }
    }
}

/// The same if the address in use answers too late: data moves to the other one for a time, and back.
#[test]
fn data_returns_to_an_address_that_answers_late() {
    let (mut net, channels, _) = behind_nat(1, Duration::from_millis(10));
    let mut nat = net.filter.take().unwrap();
    let (second, ours) = (elsewhere(4002), SocketAddr::new([192, 0, 2, 77].into(), 5000));
    let data_there = Rc::new(Cell::new(0));
    let counted = Rc::clone(&data_there);
    let is_busy = Rc::new(Cell::new(true));
    let busy = Rc::clone(&is_busy);
    net.filter = Some(Box::new(move |flying| {
        if flying.remote == second {
            counted.set(counted.get() + u32::from(!is_stun(&flying.bytes)));
            flying.remote = ours;
            return true;
        }
        if flying.from == 1 && flying.local == ours {
            flying.local = second;
            return true;
        }
        !(busy.get() && flying.from == 1 && is_stun(&flying.bytes)) && nat(flying)
    }));
    net.peers[1].add_local_address(net.now, ours);
    net.run(Duration::from_millis(200));
    net.send(0, channels[0], Kind::Text, b"data");
    net.run(Duration::from_millis(100));
    assert!(data_there.get() > 0, "the move must have been followed");
    is_busy.set(false);
    net.run(Duration::from_secs(8));
    let before = data_there.get();
    for _ in 0..20 {
        net.send(0, channels[0], Kind::Text, b"data");
        net.run(Duration::from_millis(100));
    }
    assert_eq!((data_there.get(), net.messages[1].len()), (before, 21));
}

/// A local address is removed and another one exists: data uses it as soon as a check was answered, and the
/// other side follows.
#[test]
fn a_removed_address_is_replaced() {
    for mover in 0..2 {
        let delay = Duration::from_millis(10);
        let (mut net, channels) = Net::connected(ChannelOptions::default());
        net.run(Duration::from_secs(100));
        let (old, new) = (address(mover), elsewhere(4003));
        net.filter = Some(Box::new(move |flying| flying.local != old && flying.remote != old));
        net.peers[mover].remove_local_address(net.now, old);
        net.peers[mover].add_local_address(net.now, new);
        assert!(net.peers[mover].local_candidates().iter().all(|line| line.contains("203.0.113.9 4003")));
        let first = net.now;
        net.send(0, channels[0], Kind::Text, b"there");
        net.send(1, channels[1], Kind::Text, b"back");
        net.run_until(|net| net.messages.iter().all(|messages| !messages.is_empty()));
        // In both directions: a check and its answer, the time in which the other side rules out a second
        // address, and the data.
        assert!(net.now - first <= delay * 9, "{:?}", net.now - first);
        net.run(Duration::from_secs(60));
        assert!(net.peers.iter().all(|peer| peer.state() == PeerState::Connected));
    }
}

/// More moves than addresses are remembered: both sides drop the least recent ones.
#[test]
fn a_peer_that_moves_repeatedly_is_followed() {
    let delay = Duration::from_millis(10);
    for mover in 0..2 {
        let (mut net, channels, port) = behind_nat(mover, delay);
        for moves in 1..=200 {
            port.set(4000 + moves);
            net.send(mover, channels[mover], Kind::Text, b"from elsewhere");
            net.run(delay * 4);
            net.send(1 - mover, channels[1 - mover], Kind::Text, b"to elsewhere");
            net.run(delay * 2);
            for side in 0..2 {
                assert_eq!(net.messages[side].len(), usize::from(moves), "{mover}, {side}: {moves}");
            }
            net.run(Duration::from_secs(3));
            let report = net.peers[1 - mover].report();
            assert!(report.remote_candidates.len() <= 64, "{}", report.remote_candidates.len());
        }
        // Not just because of new addresses.
        net.run(Duration::from_secs(100));
        assert!(net.peers.iter().all(|peer| peer.state() == PeerState::Connected));
    }
}

/// The sorted times to follow each of several moves of a peer that keeps sending, or only checks, with an RTT
/// of 20 ms. Datagrams are lost at this rate, and each is delayed by up to 5 ms.
fn times_to_follow(mover: usize, sends: bool, loss: f64, moves: u16) -> Vec<Duration> {
    const JITTER_US: u32 = 5000;
    const PAUSE: Duration = Duration::from_millis(5);
    let delay = Duration::from_millis(10);
    let (mut net, channels, port) = behind_nat(mover, delay);
    let mut nat = net.filter.take().unwrap();
    // When the mover first sent from its new address, and when data was first sent there.
    let seen = Rc::new(Cell::new((None, None)));
    let (sees, at) = (Rc::clone(&seen), Rc::clone(&port));
    let seeded = || ChaCha20Rng::seed_from_u64(loss.to_bits() ^ mover as u64);
    let (mut rng, mut pauses) = (seeded(), seeded());
    net.filter = Some(Box::new(move |flying| {
        let (mut from, mut to) = sees.get();
        let sent_at = flying.at - delay;
        if flying.from == mover && !is_answer(&flying.bytes) {
            from = from.or(Some(sent_at));
        } else if flying.from != mover && flying.remote == elsewhere(at.get()) && !is_stun(&flying.bytes) {
            to = to.or(Some(sent_at));
        }
        sees.set((from, to));
        flying.at += Duration::from_micros((rng.next_u32() % JITTER_US).into());
        f64::from(rng.next_u32()) >= loss * f64::from(u32::MAX) && nat(flying)
    }));
    let mut times: Vec<_> = (1..=moves)
        .map(|number| {
            // Earlier datagrams have arrived.
            net.run(Duration::from_millis(3000 + u64::from(pauses.next_u32() % 6000)));
            port.set(4000 + number);
            seen.set((None, None));
            let begin = net.now;
            while seen.get().1.is_none() {
                assert!(
                    net.now - begin < Duration::from_secs(30),
                    "never: {mover}, {sends}, {loss}, {number}"
                );
                for side in (0..2).filter(|side| sends || *side != mover) {
                    net.send(side, channels[side], Kind::Text, b"going on");
                }
                net.run(PAUSE);
            }
            let (from, to) = seen.get();
            to.unwrap() - from.unwrap()
        })
        .collect();
    times.sort();
    times
}

/// It takes longer if the check or its answer is lost, since the check is then repeated.
#[test]
fn a_peer_is_followed_despite_loss_and_jitter() {
    const MOVES: u16 = 200;
    println!("| the peer sends | loss | median | 95 % | the longest |\n|---|---|---|---|---|");
    for (mover, sends, what) in
        [(1, true, "data"), (0, false, "a check that nominates"), (1, false, "a check")]
    {
        for loss in [0.0, 0.01, 0.05] {
            let times = times_to_follow(mover, sends, loss, MOVES);
            let ms = |at: f64| times[((times.len() - 1) as f64 * at) as usize].as_secs_f64() * 1e3;
            let [median, most, longest] = [0.5, 0.95, 1.0].map(ms);
            println!("| {what} | {:.0} % | {median:.0} ms | {most:.0} ms | {longest:.0} ms |", loss * 100.0);
            // Three one-way delays of 10 to 15 ms, the pause until data is sent, and the time that the old
            // address has to answer.
            let grace = if what == "a check" { 25.0 } else { 0.0 };
            assert!(median <= 50.0 + grace, "{what}, {loss}: {median} ms");
        }
    }
}
