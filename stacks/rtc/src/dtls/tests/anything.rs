//! Any order of calls over an unreliable network: no peer ends twice or delivers data that was not sent.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Deliver(bool),
    Lose(bool),
    /// The oldest datagram is delayed behind the others.
    Later(bool),
    /// It is delivered and kept for another delivery.
    Twice(bool),
    /// A byte is changed, and the datagram is truncated.
    Damage(bool, usize, u8, usize),
    Data(bool, usize),
    Wait(u64),
    Close(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let who = any::<bool>;
    prop_oneof![
        12 => who().prop_map(Step::Deliver),
        2 => who().prop_map(Step::Lose),
        2 => who().prop_map(Step::Later),
        2 => who().prop_map(Step::Twice),
        1 => (who(), 0usize..1200, 0u8..=255, 0usize..40).prop_map(|(to, at, xor, cut)| Step::Damage(to, at, xor, cut)),
        4 => (who(), 0usize..1500).prop_map(|(from, length)| Step::Data(from, length)),
        3 => (0u64..700).prop_map(Step::Wait),
        1 => who().prop_map(Step::Close),
    ]
}

/// Both peers, the datagrams in transit to each, and how many messages each has encrypted.
struct World {
    now: Instant,
    peers: [Ours; 2],
    inboxes: [VecDeque<Vec<u8>>; 2],
    said: [usize; 2],
}

impl World {
    fn apply(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Deliver(to) => {
                let to = usize::from(to);
                let datagram = self.inboxes[to].pop_front();
                datagram.into_iter().for_each(|datagram| self.peers[to].receive(now, datagram));
            }
            Step::Lose(to) => drop(self.inboxes[usize::from(to)].pop_front()),
            Step::Later(to) => {
                let inbox = &mut self.inboxes[usize::from(to)];
                let first = inbox.pop_front();
                inbox.extend(first);
            }
            Step::Twice(to) => {
                let to = usize::from(to);
                let datagram = self.inboxes[to].front().cloned();
                datagram.into_iter().for_each(|datagram| self.peers[to].receive(now, datagram));
            }
            Step::Damage(to, at, xor, cut) => {
                let Some(datagram) = self.inboxes[usize::from(to)].front_mut() else { return };
                let at = at % datagram.len();
                datagram[at] ^= xor;
                datagram.truncate(datagram.len().saturating_sub(cut).max(1));
            }
            Step::Data(from, length) => {
                let from = usize::from(from);
                let record = self.peers[from].data(&text(from, self.said[from], length));
                assert_eq!(record.is_empty(), !self.peers[from].dtls.can_seal());
                if !record.is_empty() {
                    self.said[from] += 1;
                    self.inboxes[1 - from].push_back(record);
                }
            }
            Step::Wait(ms) => {
                self.now += Duration::from_millis(ms);
                self.peers.iter_mut().for_each(|peer| peer.timeout(self.now));
            }
            Step::Close(from) => self.peers[usize::from(from)].dtls.close(),
        }
    }

    fn check(&mut self) {
        for index in 0..2 {
            let peer = &mut self.peers[index];
            peer.poll_events();
            while let Some(datagram) = peer.transmit() {
                self.inboxes[1 - index].push_back(datagram);
            }
            // At most one Connected and one end.
            let ended = match &peer.events[..] {
                [] | [DtlsEvent::Connected] => false,
                [DtlsEvent::Connected, end] | [end] => *end != DtlsEvent::Connected,
                more => panic!("{more:?}"),
            };
            assert!(!ended || !peer.is_connected());
            assert!(peer.received.is_empty() || peer.events.contains(&DtlsEvent::Connected));
            let mut heard: Vec<_> = peer.received.iter().map(|text| (text[0], text[1])).collect();
            heard.sort_unstable();
            assert!(heard.windows(2).all(|pair| pair[0] != pair[1]), "a replay");
            for bytes in &peer.received {
                assert!(usize::from(bytes[0]) < self.said[1 - index]);
                assert_eq!(bytes, &text(1 - index, usize::from(bytes[0]), bytes.len() - 2));
            }
        }
    }
}

/// A message: its number, its sender, and bytes derived from both.
fn text(from: usize, number: usize, length: usize) -> Vec<u8> {
    let mut text = vec![number as u8, from as u8];
    text.resize(2 + length, number as u8 ^ 0x5A);
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_calls(
        steps in prop::collection::vec(step(), 0..80),
        versions in prop::array::uniform2(prop::sample::select(vec![Versions::Only12, Versions::Only13, Versions::Both])),
    ) {
        let now = Instant::now();
        let peers = [(versions[0], Role::Client), (versions[1], Role::Server)]
            .map(|(versions, role)| Ours::new(versions, role, now));
        let mut world = World { now, peers, inboxes: Default::default(), said: [0; 2] };
        world.check();
        for step in &steps {
            world.apply(step);
            world.check();
        }
    }
}
