//! Windows after given histories, by the formulas of the RFCs.

use super::*;

const PACKET: usize = 1000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A controller with a clock, and round trips in which a whole window is acknowledged.
struct Path {
    controller: Controller,
    now: Time,
    acked: u64,
}

impl Path {
    fn new(kind: Congestion) -> Self {
        Self { controller: Controller::new(kind, PACKET, 1), now: Time::START, acked: 0 }
    }

    fn window(&self) -> usize {
        self.controller.window_bytes()
    }

    /// A round trip with one SACK for each two packets.
    fn round(&mut self, rtt: Duration, limited: bool) {
        self.now = self.now.after(rtt);
        let packets = self.window() / PACKET;
        for pair in 0..packets.div_ceil(2) {
            let packets = (packets - 2 * pair).min(2);
            let next = self.acked + (self.window() / PACKET) as u64;
            self.acked += packets as u64;
            self.controller.on_ack(&Ack {
                now: self.now,
                bytes: packets * PACKET,
                delivered: packets * PACKET,
                lost: 0,
                in_flight: 0,
                told_short: false,
                sent_at: Time::START,
                rtt: Some(rtt),
                smoothed_rtt: rtt,
                limited,
                acked_end: self.acked,
                next,
            });
        }
    }
}

#[test]
fn newreno() {
    let mut path = Path::new(Congestion::NewReno);
    let mut windows = vec![path.window()];
    // Slow start doubles, and does not grow a window that was not used.
    path.round(ms(100), true);
    windows.push(path.window());
    path.round(ms(100), false);
    windows.push(path.window());
    // A loss halves; then it is one packet per round trip.
    path.controller.on_loss();
    windows.push(path.window());
    path.round(ms(100), true);
    path.round(ms(100), true);
    windows.push(path.window());
    assert_eq!(windows, [10_000, 20_000, 20_000, 10_000, 12_000]);
    // A timeout leaves one packet; slow start goes to half of what was, or 4 packets.
    path.controller.on_timeout(false);
    assert_eq!(path.window(), PACKET);
    path.controller.on_timeout(true);
    for expected in [2000, 4000, 6000, 7000] {
        path.round(ms(100), true);
        assert_eq!(path.window(), expected);
    }
    // Never below 4 packets after a loss.
    (0..9).for_each(|_| path.controller.on_loss());
    assert_eq!(path.window(), 4 * PACKET);
}

#[test]
fn cubic_slow_start_and_loss() {
    let mut path = Path::new(Congestion::Cubic);
    path.round(ms(100), true);
    assert_eq!(path.window(), 20_000);
    path.round(ms(100), false);
    assert_eq!(path.window(), 20_000);
    path.controller.on_loss();
    assert_eq!(path.window(), 14_000);
    path.controller.on_timeout(false);
    path.controller.on_timeout(true);
    assert_eq!(path.window(), PACKET);
    for expected in [2000, 4000, 8000] {
        path.round(ms(100), true);
        assert_eq!(path.window(), expected);
    }
    // Slow start ends at 0.7 * 14,000 bytes.
    path.round(ms(100), true);
    assert!((9800..10_500).contains(&path.window()), "{}", path.window());
    (0..20).for_each(|_| path.controller.on_loss());
    assert_eq!(path.window(), 2 * PACKET);
}

/// W_cubic(t) = C * (t - K)^3 + W_max with K = cbrt(W_max * (1 - beta) / C), at a round trip so long that the
/// Reno-friendly region plays no part.
#[test]
fn cubic_follows_its_curve() {
    let mut path = Path::new(Congestion::Cubic);
    while path.window() < 1_000_000 {
        path.round(ms(100), true);
    }
    path.controller.on_loss();
    path.controller.on_loss();
    let most = {
        // The second loss came below the first: fast convergence.
        let first = 1_280_000.0_f64;
        first * 0.7 * (1.0 + 0.7) / 2.0 / PACKET as f64
    };
    let start = 1280.0 * 0.49;
    assert_eq!(path.window(), (start * PACKET as f64) as usize);
    let k = ((most - start) / 0.4).cbrt();
    let begin = path.now;
    for _ in 0..120 {
        path.round(ms(100), true);
        let t = path.now.since(begin).as_secs_f64() - 0.1;
        let expected = 0.4 * (t - k).powi(3) + most;
        let window = path.window() as f64 / PACKET as f64;
        assert!((window - expected).abs() < 0.03 * expected, "after {t} s it is {window} and not {expected}");
    }
}

#[test]
fn cubic_is_at_least_as_fast_as_reno() {
    let mut path = Path::new(Congestion::Cubic);
    (0..3).for_each(|_| path.round(ms(1), true));
    path.controller.on_loss();
    let before = path.window();
    (0..100).for_each(|_| path.round(ms(1), true));
    // 3 * 0.3 / 1.7 packets per round trip until the previous window is reached, then one.
    let grown = (path.window() - before) as f64 / PACKET as f64;
    let slow = 80.0 * 0.3 / (0.9 / 1.7);
    let expected = 80.0 * 0.3 + (100.0 - slow);
    assert!((grown - expected).abs() < 4.0, "{grown} and not {expected}");
}

#[test]
fn hystart_leaves_slow_start_when_the_round_trip_grows() {
    let mut path = Path::new(Congestion::Cubic);
    let mut rtt = 20;
    (0..3).for_each(|_| path.round(ms(rtt), true));
    assert_eq!(path.window(), 80_000);
    // A little more is noise.
    path.round(ms(23), true);
    assert_eq!(path.window(), 160_000);
    let mut windows = vec![path.window()];
    for _ in 0..12 {
        rtt += 8;
        path.round(ms(rtt), true);
        windows.push(path.window());
    }
    // A quarter more each round for five rounds, then congestion avoidance.
    let last = windows.len() - 1;
    assert!(windows[last] < 8 * windows[0], "{windows:?}");
    assert!(windows[last] - windows[last - 1] < windows[last - 1] / 10, "{windows:?}");
}

#[test]
fn hystart_goes_on_when_the_growth_was_a_mistake() {
    let mut path = Path::new(Congestion::Cubic);
    (0..3).for_each(|_| path.round(ms(20), true));
    path.round(ms(40), true);
    let before = path.window();
    path.round(ms(20), true);
    path.round(ms(20), true);
    assert!(path.window() > 3 * before, "{} after {before}", path.window());
}

#[test]
fn packets_get_longer() {
    for kind in [Congestion::Cubic, Congestion::NewReno] {
        let mut path = Path::new(kind);
        path.controller.on_timeout(false);
        path.controller.set_packet_bytes(9000);
        assert_eq!(path.window(), 9000, "{kind:?}");
    }
}
