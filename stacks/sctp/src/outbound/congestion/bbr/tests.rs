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

/// Four packets under way at a time, for so long; gives the phases that were seen. `idle`: all of them are answered before the next go out.
fn phases(time: Duration, idle: bool) -> Vec<Phase> {
    let rtt = Duration::from_millis(10);
    let (mut bbr, mut now, mut seen) = (Bbr::new(PACKET, 7), Time::START, Vec::new());
    bbr.phase = Phase::Cruise;
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

#[test]
fn the_shortest_round_trip_is_looked_for_after_five_seconds_of_traffic() {
    // seconds, after idle times -> looked for
    for (seconds, idle, expected) in [(4, false, false), (6, false, true), (12, true, false)] {
        let seen = phases(Duration::from_secs(seconds), idle);
        assert_eq!(seen.contains(&Phase::ProbeRtt), expected, "{seconds} s, {idle}: {seen:?}");
    }
}

/// A rate that was taken for too high once is forgotten after two probes.
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
