//! The receive window as the peer and the application see it.

use super::*;

fn config(window: usize, max_window: usize) -> Config {
    let mut config = Config::default();
    config.limits.receive_window_bytes = window;
    config.limits.max_receive_window_bytes = max_window;
    config.limits.max_message_bytes = window.min(config.limits.max_message_bytes);
    config
}

/// Sends until the peer would have to stop, with messages of 1,000 bytes; gives how many.
fn fill(rig: &mut Rig, ssn: &mut u16) -> usize {
    let text = "x".repeat(1000);
    let mut sent = 0;
    let mut credit = rig.sack().window;
    while credit >= 1000 {
        rig.packet(&[piece(rig.tsn, 0, *ssn, "BE", &text)]);
        (rig.tsn, *ssn, sent) = (rig.tsn.next(), *ssn + 1, sent + 1);
        credit = rig.sack().window;
    }
    sent
}

#[test]
fn it_closes_and_opens_and_wakes_the_peer() {
    let mut rig = Rig::usual_with(&config(100_000, 100_000));
    let mut ssn = 0;
    let sent = fill(&mut rig, &mut ssn);
    assert_eq!(sent, 94, "each costs 1,064, and what the peer had left is not taken back");
    assert_eq!(rig.inbound.window_bytes(), 0);
    assert!(!rig.inbound.wants_to_send());
    // Two packets of 1,163 must be free.
    let woken = (1..).find(|_| {
        rig.inbound.recv().unwrap();
        rig.inbound.wants_to_send()
    });
    assert_eq!(woken, Some(3));
    let window = rig.sack().window;
    assert!((2326..4000).contains(&window), "{window}");
    // It must double each time until it is half open, so that few SACKs tell the peer.
    let updates = (0..sent - 3).filter(|_| {
        rig.inbound.recv().unwrap();
        rig.inbound.wants_to_send() && rig.sack().window > 0
    });
    assert!((3..=6).contains(&updates.count()));
    assert_eq!((rig.taken(), rig.sack().window), (0, 100_000));
    assert_eq!(fill(&mut rig, &mut ssn), 94, "and again");
}

#[test]
fn what_the_peer_was_allowed_to_send_is_taken() {
    // The peer counts payload only: the whole window is in flight at once.
    for length in [256, 1000, 1163, 16_000] {
        let mut rig = Rig::usual_with(&config(1 << 20, 1 << 20));
        let text = "x".repeat(length);
        for ssn in 0..(1 << 20) / length {
            rig.packet(&[piece(rig.tsn, 0, ssn as u16, "BE", &text)]);
            rig.tsn = rig.tsn.next();
        }
        assert_eq!(rig.inbound.stats().dropped_chunks, 0, "of {length} bytes");
        assert!(rig.sack().window < 16_000);
        assert_eq!(rig.taken(), (1 << 20) / length);
    }
}

#[test]
fn a_full_window_drops_and_says_so() {
    let mut rig = Rig::usual_with(&config(10_000, 10_000));
    let text = "x".repeat(1000);
    for ssn in 0..20 {
        rig.packet(&[piece(rig.tsn.add(ssn), 0, ssn as u16, "BE", &text)]);
    }
    assert!(rig.inbound.wants_to_send());
    let seen = rig.sack();
    assert_eq!((seen.cumulative, seen.window), (rig.tsn.add(10), 0));
    assert_eq!((rig.inbound.stats().dropped_chunks, rig.taken()), (9, 11));
    for ssn in 11..20 {
        rig.packet(&[piece(rig.tsn.add(ssn), 0, ssn as u16, "BE", &text)]);
    }
    assert_eq!(rig.taken(), 9);
}

#[test]
fn a_message_as_long_as_the_window_comes_through() {
    for (interleaving, window) in [(false, 2000), (false, 100_000), (true, 2000), (true, 100_000)] {
        let config = config(window, window);
        let mut rig = Rig::new(&config, Tsn(0), interleaving);
        let text = "x".repeat(1000);
        let last = (window / 1000) as u32 - 1;
        // The other way round: everything but the first is held, as far as there is room; the rest is sent again.
        for _ in 0..=last {
            for fsn in (0..=last).rev() {
                let flags = ["", "B", "E"][usize::from(fsn == 0) + 2 * usize::from(fsn == last)];
                let data = match interleaving {
                    true => interleaved(Tsn(fsn), 0, 0, fsn, flags, &text),
                    false => piece(Tsn(fsn), 0, 0, flags, &text),
                };
                rig.packet(&[data]);
            }
        }
        assert_eq!(rig.inbound.recv().unwrap().data.len(), window);
        assert_eq!(rig.inbound.stats().held_bytes, 0);
    }
}

#[test]
fn it_grows_while_the_application_keeps_up() {
    let mib = 1 << 20;
    // (round trip in ms, KiB taken in each, whether all is taken at once, window after 20 rounds)
    for (rtt, kib, all_taken, expected) in [
        (None, 2000, true, 8 * mib),
        (Some(1), 50, true, mib / 4),
        (Some(1), 200, true, mib),
        (Some(50), 50, true, mib / 4),
        (Some(50), 480, true, 2 * mib),
        (Some(50), 600, true, 4 * mib),
        (Some(50), 4000, true, 16 * mib),
        (Some(50), 12_000, true, 16 * mib),
        (Some(50), 12_000, false, mib / 4),
    ] {
        let mut rig = Rig::usual();
        if let Some(rtt) = rtt {
            rig.inbound.set_rtt(Duration::from_millis(rtt));
        }
        let text = "x".repeat(10_240);
        let step = Duration::from_millis(rtt.unwrap_or(100)) * 10 / kib;
        let rounds = 20 * 10_u32.div_ceil(rtt.unwrap_or(100) as u32);
        for at in 0..rounds * kib / 10 {
            rig.packet(&[piece(rig.tsn, 0, at as u16, "BE", &text)]);
            rig.now += step;
            if !all_taken {
                continue;
            }
            rig.tsn = rig.tsn.next();
            assert_eq!(rig.taken(), 1);
        }
        assert_eq!(rig.inbound.stats().window_bytes, expected, "{rtt:?} ms, {kib} KiB");
    }
}

#[test]
fn it_grows_for_what_the_application_cannot_take_yet() {
    let mut rig = Rig::usual();
    let text = "x".repeat(1000);
    for at in 1..3000 {
        rig.packet(&[piece(rig.tsn.add(at), 0, at as u16, "BE", &text)]);
    }
    assert_eq!((rig.inbound.stats().dropped_chunks, rig.taken()), (0, 0));
    assert_eq!(rig.inbound.stats().window_bytes, 8 << 20, "at least twice of what is held");
}

#[test]
fn tiny_messages_close_it_by_their_number() {
    let mut config = config(1 << 20, 1 << 20);
    config.limits.max_waiting_messages = 1000;
    let mut rig = Rig::usual_with(&config);
    for at in 0..2000 {
        rig.packet(&[chunk(rig.tsn.add(at), 0, at as u16)]);
        let window = rig.sack().window as usize;
        let places = 1000usize.saturating_sub(at as usize + 1);
        assert!(window <= (1 << 20) * places / 1000, "{window} with {places} places");
    }
    assert_eq!((rig.inbound.stats().dropped_chunks, rig.sack().window), (1000, 0));
    let woken = (1..).find(|_| {
        rig.inbound.recv().unwrap();
        rig.inbound.wants_to_send()
    });
    assert_eq!(woken, Some(3));
}
