//! How long a set-up takes when checks get lost, or come too soon. The time that one way takes is 10 ms.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{Filter, Flying, Net};
use netdyno_rtc_core::{ChannelOptions, Event};

/// Loses the first requests, or responses, of each side: so many of side 0, and of side 1.
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

/// Until a channel that was made before is open at both ends.
fn set_up(mut net: Net, began: Duration) -> Duration {
    net.run_until(|net| net.events.iter().all(|events| events.iter().any(|e| matches!(e, Event::Open(_)))));
    net.now - net.start - began
}

#[test]
fn a_lost_check_costs_little() {
    for (requests, responses, most_ms) in [
        ([0, 0], [0, 0], 100),
        // The other side's check brings it again.
        ([1, 0], [0, 0], 120),
        ([0, 1], [0, 0], 120),
        ([0, 0], [1, 0], 120),
        ([0, 0], [0, 1], 120),
        // Nobody knows of anybody: RTO.
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

/// Some drop checks that come before the answer to their offer. What counts is the time from the answer on.
#[test]
fn who_is_not_ready_for_the_first_check_is_not_waited_for() {
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
