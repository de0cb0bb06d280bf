use serde_json::json;

use super::*;
use crate::payload::Digest;
use crate::rtt::job::NEVER;
use crate::{Event, Lab, Phase, Setup};

const MESSAGE_BYTES: usize = 80;
const TIMEOUT_NS: u64 = 200_000_000;

/// A ping of two lanes with two messages to verify, at this rate (0: closed loop).
fn ping(transport: &str, rate: u64) -> &'static Ping {
    ping_of(transport, rate, MESSAGE_BYTES)
}

fn ping_of(transport: &str, rate: u64, message_bytes: usize) -> &'static Ping {
    let setup = json!({
        "protocol": 1, "workload": "rtt", "role": "ping", "seed": 5, "local": "127.0.0.1", "peer": "127.0.0.1",
        "params": { "transport": transport, "message_bytes": message_bytes, "rate": rate, "outstanding": 2,
                    "tasks": 0, "pacing": "spin", "echo_delay_ns": 0, "timeout_ms": 200, "seconds": 1.0,
                    "verify_messages": 2 },
    });
    let setup: Setup = serde_json::from_value(setup).unwrap();
    Box::leak(Box::new(Ping::new(Lab::for_tests(), &setup)))
}

fn echo(stream: u32, sequence: u64) -> Vec<u8> {
    let mut message = vec![0; MESSAGE_BYTES];
    if sequence == HELLO {
        write_header(&mut message, 0, HELLO);
    } else {
        fill(&mut message, 5, stream, sequence);
    }
    message
}

/// Sends the next request, which must be due, and handles its echo.
fn exchange(lane: &mut Lane) {
    lane.next_request().unwrap();
    lane.handle_sent(0);
    let message = lane.message().to_vec();
    assert!(lane.handle_message(&message, 0));
}

/// Lane 1 with this outstanding request; earlier requests were echoed.
fn awaiting(ping: &'static Ping, sequence: u64) -> Lane {
    let mut lane = ping.lane(1);
    if sequence != HELLO {
        ping.handle(Event::Start(Phase::Verify));
        ping.handle(Event::Start(Phase::Warmup));
        (0..=sequence).for_each(|_| exchange(&mut lane));
    }
    lane.next_request().unwrap();
    lane.handle_sent(0);
    lane
}

/// (taken, lost, late, strange)
fn counters(ping: &Ping) -> (u64, u64, u64, u64) {
    let Slot { messages, lost, late, strange, .. } = ping.slot(1);
    let [messages, lost, late, strange] =
        [messages, lost, late, strange].map(|counter| counter.load(Relaxed));
    (messages, lost, late, strange)
}

#[test]
fn received_messages_are_classified() {
    let changed = |mut message: Vec<u8>, at: usize| {
        message[at] ^= 1;
        message
    };
    let rows = [
        (HELLO, echo(0, HELLO), Verdict::Taken),
        (HELLO, changed(echo(0, HELLO), 79), Verdict::Corrupt),
        (HELLO, echo(1, 0), Verdict::Strange),
        (0, echo(1, 0), Verdict::Taken),
        (0, echo(0, HELLO), Verdict::SpareHello),
        (0, changed(echo(0, HELLO), 11), Verdict::Strange),
        (0, changed(echo(1, 0), 79), Verdict::Corrupt),
        (1, changed(echo(1, 1), 16), Verdict::Corrupt),
        (1, echo(1, 0), Verdict::Late),
        (1, echo(0, 0), Verdict::Strange),
        (1, echo(0, 1), Verdict::Strange),
        (1, echo(1, 2), Verdict::Strange),
        (3, echo(1, 3), Verdict::Taken),
        // After verify, only the header and the length are compared.
        (3, changed(echo(1, 3), 79), Verdict::Taken),
        (3, changed(echo(1, 3), 15), Verdict::Strange),
        (3, changed(echo(1, 2), 15), Verdict::Strange),
        (3, echo(1, 2), Verdict::Late),
        (3, echo(1, 3)[..79].to_vec(), Verdict::Strange),
        (3, [echo(1, 3), vec![0]].concat(), Verdict::Strange),
        (3, Vec::new(), Verdict::Strange),
    ];
    for (awaited, message, wanted) in rows {
        let lane = awaiting(ping("udp", 0), awaited);
        assert_eq!(lane.judge(&message), wanted, "{awaited}: {message:?}");
    }
}

#[test]
fn every_message_is_counted_once() {
    let ping = ping("udp", 0);
    let mut lane = awaiting(ping, 3);
    assert_eq!(counters(ping), (3, 0, 0, 0));
    assert!(!lane.handle_message(&echo(1, 2), 1));
    assert!(!lane.handle_message(&echo(1, 4), 2));
    assert!(!lane.handle_message(&echo(0, HELLO), 2));
    assert!(!lane.handle_tick(TIMEOUT_NS - 1));
    assert!(lane.handle_tick(TIMEOUT_NS));
    assert_eq!(counters(ping), (3, 1, 1, 1));
    exchange(&mut lane);
    assert_eq!(counters(ping), (4, 1, 1, 1));
    assert_eq!(ping.slot(1).requests.load(Relaxed), 5);
    assert_eq!(ping.slot(0).requests.load(Relaxed), 0);
}

#[test]
fn a_late_echo_does_not_delay_a_loss() {
    let ping = ping("udp", 0);
    let mut lane = awaiting(ping, 3);
    assert!(lane.handle_message(&echo(1, 2), TIMEOUT_NS));
    assert_eq!(counters(ping), (3, 1, 1, 0));
}

#[test]
fn tcp_has_no_timeout() {
    let ping = ping("tcp", 0);
    assert!(!awaiting(ping, 3).handle_tick(NEVER));
    assert_eq!(counters(ping), (3, 0, 0, 0));
}

#[test]
fn a_lost_hello_is_retransmitted_and_not_counted() {
    let ping = ping("udp", 0);
    let mut lane = awaiting(ping, HELLO);
    assert!(lane.handle_tick(TIMEOUT_NS));
    assert_eq!((lane.next_request(), lane.message()), (Some(0), echo(0, HELLO).as_slice()));
    exchange(&mut lane);
    assert_eq!((lane.next_request(), counters(ping)), (None, (0, 0, 0, 0)));
}

#[test]
fn concurrent_hellos_and_verifying_lanes_are_limited() {
    let ping = ping_of("udp", 0, 60_000);
    let [mut first, mut second] = [ping.lane(0), ping.lane(1)];
    assert_eq!(second.next_request(), None);
    exchange(&mut first);
    exchange(&mut second);
    ping.handle(Event::Start(Phase::Verify));
    assert_eq!(second.next_request(), None);
    exchange(&mut first);
    assert_eq!(second.next_request(), None);
    exchange(&mut first);
    assert_eq!(second.next_request(), Some(0));
}

#[test]
fn a_lane_waits_for_its_phases() {
    let ping = ping("udp", 0);
    let mut lane = ping.lane(1);
    exchange(&mut lane);
    assert_eq!(lane.next_request(), None);
    ping.handle(Event::Start(Phase::Verify));
    let mut digest = Digest::default();
    for sequence in 0..2 {
        exchange(&mut lane);
        assert_eq!(lane.message(), echo(1, sequence));
        digest.add(lane.message());
    }
    assert_eq!((lane.next_request(), &lane.digest), (None, &digest));
    ping.handle(Event::Start(Phase::Warmup));
    assert_eq!(lane.next_request(), Some(0));
}

#[test]
fn an_open_loop_is_scheduled_from_the_warm_up() {
    let ping = ping("udp", 1000);
    let mut lane = awaiting(ping, 1);
    assert_eq!(lane.due_ns, 0);
    let message = lane.message().to_vec();
    assert!(lane.handle_message(&message, 0));
    let t0_ns = ping.job.warmup_ns();
    for due_ns in [1_000_000, 3_000_000, 5_000_000] {
        assert_eq!(lane.next_request(), Some(t0_ns + due_ns));
        exchange(&mut lane);
    }
}

#[test]
fn only_echoes_within_the_window_are_recorded() {
    let ping = ping("udp", 1000);
    ping.record(1, 0, 0, NEVER - 1);
    ping.handle(Event::Start(Phase::Measure));
    let from_ns = ping.measure_ns();
    for echo_ns in [from_ns - 1, from_ns, from_ns + 999_999_999, from_ns + 1_000_000_000] {
        ping.record(1, 0, 0, echo_ns);
    }
    assert_eq!(ping.samples(), 2);
}
