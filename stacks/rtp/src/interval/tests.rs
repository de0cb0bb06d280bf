use super::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn interval(now: Instant, seed: u8, rtcp_bytes_per_s: f64) -> Interval {
    let config = IntervalConfig { rtcp_bytes_per_s, ..IntervalConfig::default() };
    Interval::new(now, config, 72, [seed; 32])
}

/// Mean intervals of section 6.3.1, computed by hand: datagrams of 100 bytes, RTCP at 100 bytes a second.
#[test]
fn mean_intervals_match_the_rfc() {
    let now = Instant::now();
    for (members, senders, we_sent, mean) in [
        // The minimum.
        (1, 0, false, 5.0),
        (1, 1, true, 5.0),
        // Receivers share three quarters: 90 * 100 / 75.
        (100, 10, false, 120.0),
        // Senders share one: 10 * 100 / 25.
        (100, 10, true, 40.0),
        // More than a quarter sends: all alike.
        (100, 26, true, 100.0),
        (100, 26, false, 100.0),
        (usize::MAX, 0, false, 86_400.0),
    ] {
        let mut interval = interval(now, 1, 100.0);
        interval.handle_members(now, members, senders, we_sent);
        assert_eq!(interval.mean_of(false), seconds(mean), "{members} {senders} {we_sent}");
        // Half the minimum before the first report.
        let first = if mean > 5.0 { mean } else { 2.5 };
        assert_eq!(interval.mean_of(true), seconds(first), "{members} {senders} {we_sent}");
    }
}

#[test]
fn reduced_minimum_depends_on_bandwidth() {
    for (bits_per_s, expected) in [(72_000.0, 5.0), (720_000.0, 0.5), (36_000_000.0, 0.01), (0.0, 86_400.0)] {
        assert_eq!(reduced_minimum(bits_per_s), seconds(expected));
    }
}

#[test]
fn intervals_are_randomised_and_reproducible() {
    let start = Instant::now();
    let run = |seed| {
        let mut interval = interval(start, seed, 1e6);
        let (mut now, mut sent) = (start, Vec::new());
        while sent.len() < 2_000 {
            now = now.max(interval.next_deadline());
            if interval.handle_timeout(now) {
                sent.push(now);
                interval.handle_sent(now, 72);
            }
        }
        sent
    };
    let sent = run(3);
    assert_eq!(sent, run(3));
    assert_ne!(sent, run(4));
    let first = sent[0] - start;
    let bounds = |mean: f64| seconds(mean * 0.5 / COMPENSATION)..=seconds(mean * 1.5 / COMPENSATION);
    assert!(bounds(2.5).contains(&first), "{first:?}");
    let gaps: Vec<f64> = sent.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    assert!(gaps.iter().all(|gap| bounds(5.0).contains(&seconds(*gap))));
    // Reconsideration lengthens what the compensation shortened: the mean is that of section 6.2.
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((4.8..5.2).contains(&mean), "{mean}");
}

#[test]
fn timer_is_reconsidered_when_membership_changes() {
    let start = Instant::now();
    let mut interval = interval(start, 5, 100.0);
    let first = interval.next_deadline();
    interval.handle_members(start, 1_000, 0, false);
    assert!(!interval.handle_timeout(first));
    let later = interval.next_deadline();
    assert!(later - start > seconds(500.0), "{:?}", later - start);
    // A tenth remains: a tenth of the wait is left.
    let now = first + seconds(100.0);
    interval.handle_members(now, 100, 0, false);
    let left = (interval.next_deadline() - now).as_secs_f64() / (later - now).as_secs_f64();
    assert!((left - 0.1).abs() < 1e-6, "{left}");
}

#[test]
fn bye_is_delayed_in_large_sessions() {
    let start = Instant::now();
    for (members, at_once) in [(2, true), (50, true), (51, false)] {
        let mut interval = interval(start, 6, 100.0);
        interval.handle_members(start, members, 0, false);
        assert_eq!(interval.leave(start, 50), at_once, "{members}");
    }
    let mut interval = interval(start, 6, 100.0);
    interval.handle_members(start, 1_000, 0, false);
    assert!(!interval.leave(start, 72));
    let due = interval.next_deadline();
    assert!(due - start < seconds(2.5 * 1.5));
    // A hundred others leave too: all the more do we wait.
    (0..100).for_each(|_| interval.handle_bye());
    interval.handle_members(start, 1_000_000, 0, false);
    assert!(!interval.handle_timeout(due));
    assert!(interval.next_deadline() - start > seconds(50.0));
}
