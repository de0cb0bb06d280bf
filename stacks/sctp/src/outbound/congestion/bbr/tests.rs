//! The model, whatever SACKs say.

use proptest::prelude::*;

use super::*;

const PACKET: usize = 1000;

#[test]
fn loss_counts_beyond_what_the_path_loses_by_itself() {
    // own loss; lost of a hundred packets, of a thousand -> beyond
    for (own, of_hundred, of_thousand) in [(0.0, 3, 21), (0.05, 12, 85), (0.1, 19, 140)] {
        let mut bbr = Bbr::new(PACKET, 1);
        bbr.own_loss = own;
        let is_beyond = |packets: u64, of: u64| bbr.is_beyond(packets * PACKET as u64, of * PACKET as u64);
        assert!(is_beyond(of_hundred, 100) && !is_beyond(of_hundred - 1, 100), "{own}");
        assert!(is_beyond(of_thousand, 1000) && !is_beyond(of_thousand - 2, 1000), "{own}");
        assert!(!is_beyond(0, 0));
    }
}

/// Keeps four packets in flight for a time and returns the phases in order. With `idle`, all of them are acknowledged before
/// the next are sent.
fn phases(time: Duration, idle: bool) -> Vec<Phase> {
    let mut bbr = Bbr::new(PACKET, 7);
    bbr.phase = Phase::Cruise;
    phases_of(bbr, time, idle)
}

fn phases_of(mut bbr: Bbr, time: Duration, idle: bool) -> Vec<Phase> {
    let rtt = Duration::from_millis(10);
    let (mut now, mut seen) = (Time::START, Vec::new());
    bbr.is_full = true;
    for acked in 0..(time.as_nanos() / rtt.as_nanos()) as u64 {
        let sent_at = now;
        bbr.on_sent(now, 4 * PACKET, idle);
        now = now.after(rtt);
        // The first was the shortest: all others had to wait a little.
        let rtt = if acked == 0 { rtt } else { rtt + Duration::from_micros(100) };
        bbr.on_ack(&Ack {
            now,
            bytes: PACKET,
            delivered: PACKET,
            lost: 0,
            in_flight: if idle { 0 } else { 3 * PACKET },
            told_short: false,
            sent_at,
            rtt: Some(rtt),
            smoothed_rtt: rtt,
            limited: true,
            acked_end: acked + 1,
            next: acked + 5,
        });
        seen.push(bbr.phase);
    }
    seen.dedup();
    seen
}

/// The path becomes longer without notice: what others queue is judged by the new round trip in the end.
#[test]
fn the_lowest_round_trip_is_forgotten() {
    let (mut bbr, mut now) = (Bbr::new(PACKET, 7), Time::START);
    for second in 0..601u64 {
        now = now.after(Duration::from_secs(1));
        let rtt = Duration::from_millis(if second < 10 { 1 } else { 50 });
        let ack = Ack {
            now,
            bytes: PACKET,
            delivered: PACKET,
            lost: 0,
            in_flight: 0,
            told_short: false,
            sent_at: now,
            rtt: Some(rtt),
            smoothed_rtt: rtt,
            limited: false,
            acked_end: second + 1,
            next: second + 1,
        };
        bbr.update_rtt(&ack);
        let expected = if (10..300).contains(&second) { 1.0 } else { 0.0 };
        if !(299..=310).contains(&second) {
            assert_eq!(bbr.depth(&ack), expected, "{second} s");
        }
    }
}

#[test]
fn the_shortest_round_trip_is_looked_for_after_five_seconds_of_traffic() {
    // seconds, after idle times -> looked for
    for (seconds, idle, expected) in [(4, false, false), (6, false, true), (12, true, false)] {
        let seen = phases(Duration::from_secs(seconds), idle);
        assert_eq!(seen.contains(&Phase::ProbeRtt), expected, "{seconds} s, {idle}: {seen:?}");
    }
}

/// With a second of queue a probe for more takes longer than that.
#[test]
fn a_probe_for_more_ends_before_the_shortest_round_trip_is_looked_for() {
    for phase in [Phase::Refill, Phase::Up] {
        let mut bbr = Bbr::new(PACKET, 7);
        (bbr.phase, bbr.probe_rtt_due) = (phase, true);
        let seen = phases_of(bbr, Duration::from_secs(2), false);
        let at = |wanted| seen.iter().position(|phase| *phase == wanted);
        let (probe, look) = (at(Phase::Up), at(Phase::ProbeRtt));
        assert!(probe.is_some() && probe < look, "{phase:?}: {seen:?}");
    }
}

/// If the queue were never empty, the first estimate would never be replaced.
#[test]
fn the_paths_own_loss_is_no_more_than_all_that_is_lost() {
    // lost in a hundred packets of each round, seconds -> own loss, which was a tenth
    for (lost, seconds, expected) in [(0, 4, 0.1), (0, 6, 0.0), (4, 6, 0.04), (20, 6, 0.1)] {
        let mut bbr = Bbr::new(PACKET, 1);
        bbr.own_loss = 0.1;
        for round in 0..=10 * seconds {
            let now = Time::START.after(Duration::from_millis(100 * round));
            bbr.update_own_loss(now, lost * PACKET as u64, 100 * PACKET as u64, false);
        }
        assert_eq!(bbr.own_loss, expected, "{lost}, {seconds}");
    }
}

#[test]
fn a_queue_is_seen_beyond_the_noise_of_the_round_trip() {
    // rate in MB/s, shortest round trip, this one, in us -> shows a queue
    for (rate, shortest, rtt, expected) in [
        (10.0, 100, 2_000, false),
        (10.0, 100, 2_200, true),
        (10.0, 1_000, 1_400, false),
        (10.0, 1_000, 1_600, true),
        (2.0, 1_000, 1_900, false),
        (2.0, 1_000, 2_100, true),
        (0.0, 1_000, 2_900, false),
        (0.0, 1_000, 3_100, true),
        (10.0, 20_000, 21_900, false),
        (10.0, 20_000, 22_100, true),
        (10.0, 100_000, 106_000, false),
        (10.0, 100_000, 107_000, true),
    ] {
        let mut bbr = Bbr::new(PACKET, 1);
        bbr.most[0] = rate * 1e6;
        bbr.min_rtt = Some((Duration::from_micros(shortest), Time::START));
        assert_eq!(bbr.shows_queue(Duration::from_micros(rtt)), expected, "{rate} {shortest} {rtt}");
    }
}

#[test]
fn others_are_seen_by_the_queue_of_a_round() {
    let ms = Duration::from_millis;
    // shortest, shortest of the round, whether some of it was longer -> others
    for (shortest, least, queued, expected) in [
        (ms(20), ms(20), false, Others::None),
        (ms(20), ms(20), true, Others::Some),
        (ms(20), ms(30), true, Others::Always),
        (Duration::from_micros(100), ms(30), true, Others::None),
    ] {
        let mut bbr = Bbr::new(PACKET, 1);
        bbr.min_rtt = Some((shortest, Time::START));
        (bbr.round_rtt, bbr.round_queued) = (Some(least), queued);
        assert_eq!(bbr.others(), expected, "{shortest:?} {least:?}");
    }
}

/// A rate that was overestimated once is forgotten after two probes.
#[test]
fn the_rate_is_of_two_probes() {
    let mut bbr = Bbr::new(PACKET, 7);
    bbr.most = [9e6, 0.0];
    bbr.forget_oldest_rate();
    assert_eq!(bbr.max_rate(), 9e6);
    bbr.forget_oldest_rate();
    assert_eq!(bbr.max_rate(), 9e6, "nothing was seen since");
    bbr.most[0] = 1e6;
    bbr.forget_oldest_rate();
    assert_eq!(bbr.max_rate(), 1e6);
}

/// An acknowledgement while there is nothing to send gives no rate sample and is ignored.
#[test]
fn a_word_that_was_alone_does_not_hold_up_the_start() {
    let mut bbr = Bbr::new(PACKET, 7);
    bbr.most[0] = 32.0 / 0.1;
    bbr.min_rtt = Some((Duration::from_millis(100), Time::START));
    bbr.set_rate();
    let ten_packets_a_round_trip = 100_000.0;
    assert!(bbr.pacing().is_some_and(|pacing| pacing.rate > 2.0 * ten_packets_a_round_trip));
}

#[test]
fn a_rate_that_was_given_up_for_a_queue_is_looked_for_when_that_is_gone() {
    // part of the rate that is left, rounds without a queue -> probes
    for (part, calm_rounds, expected) in
        [(0.5, 2, true), (0.5, 1, false), (0.8, 10, false), (f64::INFINITY, 10, false)]
    {
        let mut bbr = Bbr::new(PACKET, 7);
        bbr.most[0] = 1e6;
        (bbr.phase, bbr.rate_short, bbr.calm_rounds) = (Phase::Down, part * 1e6, calm_rounds);
        assert_eq!(bbr.should_probe(Time::START), expected, "{part} {calm_rounds}");
    }
}

proptest! {
    /// Whatever SACKs say, there is a window of some packets, and a rate that is a number.
    #[test]
    fn no_history_stops_it(
        steps: Vec<(u16, u32, u32, u32, bool, u8)>,
    ) {
        let mut bbr = Bbr::new(PACKET, 7);
        let (mut now, mut acked) = (Time::START, 0);
        for (wait, delivered, lost, in_flight, limited, what) in steps {
            let sent_at = now;
            bbr.on_sent(now, in_flight as usize, what % 7 == 0);
            now = now.after(Duration::from_micros(wait.into()));
            acked += 1;
            bbr.on_ack(&Ack {
                now,
                bytes: delivered as usize,
                delivered: delivered as usize,
                lost: lost as usize,
                in_flight: in_flight as usize,
                told_short: what % 5 == 0,
                sent_at,
                rtt: (what % 3 != 0).then(|| Duration::from_micros(wait.into())),
                smoothed_rtt: Duration::from_micros(wait.into()),
                limited,
                acked_end: acked,
                next: acked + 10,
            });
            prop_assert!(bbr.window_bytes() >= MIN_WINDOW_PACKETS * PACKET);
            prop_assert!(bbr.pacing().is_none_or(|p| p.rate > 0.0 && p.rate.is_finite() && p.burst_bytes > 0.0));
            match what % 11 {
                0 => bbr.on_timeout(what > 100),
                1 => bbr.on_app_limited(in_flight as usize),
                _ => {}
            }
        }
    }
}
