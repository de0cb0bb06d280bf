//! Duration of the set-up if checks are lost or arrive too early. The one-way delay is 10 ms.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Filter, Flying, Net};
use netdyno_rtc_core::{ChannelOptions, Event};

/// Drops the first requests, or responses, of each side: this many of side 0, and of side 1.
fn lose(requests: [usize; 2], responses: [usize; 2]) -> Filter {
    let (mut requests, mut responses) = (requests, responses);
    Box::new(move |flying: &mut Flying| {
        let left = match flying.bytes[..2] {
            [0, 1] => &mut requests[flying.from],
            [1, 1] => &mut responses[flying.from],
            _ => return true,
        };
        let is_lost = *left > 0;
        *left -= usize::from(is_lost);
        !is_lost
    })
}

/// Runs until a channel that was created before is open at both ends.
fn set_up(mut net: Net, began: Duration) -> Duration {
    net.run_until(|net| net.events.iter().all(|events| events.iter().any(|e| matches!(e, Event::Open(_)))));
    net.now - net.start - began
}

#[test]
fn a_lost_check_costs_little() {
    for (requests, responses, most_ms) in [
        ([0, 0], [0, 0], 100),
        // The other side's check triggers it again.
        ([1, 0], [0, 0], 120),
        ([0, 1], [0, 0], 120),
        ([0, 0], [1, 0], 120),
        ([0, 0], [0, 1], 120),
        // Neither side has received a check: RTO.
        ([1, 1], [0, 0], 600),
        ([2, 2], [0, 0], 1600),
    ] {
        let mut net = Net::new();
        net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
        net.filter = Some(lose(requests, responses));
        net.signal();
        let time = set_up(net, Duration::ZERO);
        println!("requests lost {requests:?}, responses {responses:?}: {time:?}");
        assert!(time <= Duration::from_millis(most_ms), "{requests:?} {responses:?}: {time:?}");
    }
}

/// Pion nominates on a timer, or when a check arrives on a pair that works for it: such a check is sent
/// unless it has nominated by then.
#[test]
fn a_peer_that_does_not_nominate_is_reminded() {
    for nominates in [true, false] {
        let mut net = Net::new();
        net.delay = Duration::from_millis(1);
        let checks = Arc::new(Mutex::new(Vec::new()));
        let (seen, start) = (checks.clone(), net.start);
        let mut is_first = true;
        net.filter = Some(Box::new(move |flying| {
            let is_request = flying.bytes[..2] == [0, 1];
            if is_request && flying.from == 1 {
                seen.lock().unwrap().push((flying.at - start).as_millis());
            }
            let is_nomination = is_request && flying.bytes.windows(4).any(|bytes| bytes == [0, 0x25, 0, 0]);
            // Ours is answered before its own.
            let is_lost = is_request && flying.from == 0 && std::mem::take(&mut is_first);
            !(is_lost || is_nomination && !nominates)
        }));
        net.signal();
        net.run(Duration::from_millis(80));
        let expected: &[u128] = if nominates { &[1] } else { &[1, 8] };
        assert_eq!(*checks.lock().unwrap(), expected);
    }
}

/// Some implementations drop checks that arrive before the answer to their offer. The time from the answer on
/// counts.
#[test]
fn a_late_peer_costs_no_retransmission_timeout() {
    for answer_takes_ms in [0, 15, 35, 80, 150, 420, 1234] {
        let mut net = Net::new();
        net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
        let offer = net.peers[0].create_offer(net.now, false).unwrap();
        let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
        let taken_after = Duration::from_millis(answer_takes_ms);
        let taken_at = net.now + taken_after;
        net.filter = Some(Box::new(move |flying| flying.from == 0 || flying.at >= taken_at));
        net.run(taken_after);
        net.peers[0].accept_answer(net.now, &answer).unwrap();
        let time = set_up(net, taken_after);
        println!("answer after {answer_takes_ms} ms: {time:?} from then on");
        assert!(time <= Duration::from_millis(110), "{answer_takes_ms}: {time:?}");
    }
}
