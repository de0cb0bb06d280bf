use super::*;

fn window(bytes: usize) -> Window {
    let mut config = Config::default();
    config.limits.receive_window_bytes = bytes;
    config.limits.max_receive_window_bytes = bytes;
    Window::new(&config)
}

#[test]
fn what_is_told() {
    // (window, charged, the peer's remaining credit, the advertised window)
    for (bytes, charged, credit, expected) in [
        (100_000, 0, 100_000, 100_000),
        (100_000, 50_000, 20_000, 50_000),
        (100_000, 98_000, 0, 2000),
        // Less than a packet is not offered, and not taken back.
        (100_000, 99_000, 0, 0),
        (100_000, 99_000, 500, 500),
        (100_000, 99_000, 5000, 1000),
        (100_000, 120_000, 5000, 0),
        // Half of a window that is short.
        (2000, 900, 0, 1100),
        (2000, 1100, 0, 0),
    ] {
        let mut window = window(bytes);
        window.charge(charged);
        window.set_advertised(credit);
        assert_eq!(window.advertised(), expected, "{bytes} {charged} {credit}");
    }
}

#[test]
fn when_the_peer_is_woken() {
    // (what is free, what the peer has left, whether a SACK becomes due)
    for (free, credit, expected) in [
        (0, 0, false),
        (2325, 0, false),
        (2326, 0, true),
        (4000, 2326, false),
        (4652, 2326, true),
        (10_000, 6000, false),
        (12_000, 6000, true),
        (99_000, 49_999, false),
        (100_000, 49_999, true),
        (100_000, 50_000, false),
    ] {
        let mut window = window(100_000);
        window.charge_message(1000);
        window.charge(100_000 - free);
        window.set_advertised(credit);
        assert_eq!(window.take_message(1000), expected, "{free} {credit}");
    }
}

#[test]
fn the_first_window_is_never_below_what_the_standard_asks_for() {
    assert_eq!(window(0).advertised(), 1500);
}

#[test]
fn limits_without_sense_do_no_harm() {
    let mut config = Config::default();
    config.limits.receive_window_bytes = usize::MAX;
    config.limits.max_receive_window_bytes = usize::MAX;
    config.limits.max_message_bytes = usize::MAX;
    config.limits.max_waiting_messages = usize::MAX;
    let mut window = Window::new(&config);
    window.set_rtt(Duration::MAX);
    window.charge_message(LIMIT_MAX);
    window.tune(Instant::now());
    assert_eq!(window.advertised(), 0);
    assert!(window.has_room(1 << 20) && window.has_last_room(1 << 30));
    assert!(window.take_message(LIMIT_MAX) || window.advertised() == 1 << 30);
}

/// Data comes in batches, each of them most of the window: what counts is how much it is over time.
#[test]
fn batches_are_no_reason_to_grow() {
    let mut window = window(100_000);
    let mut now = Instant::now();
    window.set_rtt(Duration::from_micros(50));
    for _ in 0..1000 {
        window.charge_message(90_000);
        window.tune(now);
        window.take_message(90_000);
        now += Duration::from_millis(3);
    }
    assert_eq!(window.limit(), 100_000);
}
