//! Any interleaving of sending, losing, reordering and answering: every reliable message comes out once, in order.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::{Congestion, Schedule};

#[derive(Debug, Clone)]
enum Step {
    Send {
        stream: u16,
        length: usize,
        unordered: bool,
        reliability: Reliability,
    },
    /// Writes all that may be sent onto the wire.
    Flush,
    /// One packet on the wire arrives, wherever it is in the line.
    Arrive(usize),
    /// All packets on the wire arrive.
    ArriveAll,
    Lose(usize),
    LoseAll,
    Duplicate(usize),
    /// A SACK arrives.
    Answer,
    /// A SACK is made, to arrive later, out of order or never.
    AnswerLate,
    LateAnswer(usize),
    Wait(u64),
    Renege,
    Window(u32),
    PacketBytes(usize),
}

#[derive(Debug, Clone)]
struct Setting {
    initial_tsn: u32,
    interleaving: bool,
    forward_tsn: bool,
    schedule: Schedule,
    congestion: Congestion,
    reliable: bool,
}

fn settings() -> impl Strategy<Value = Setting> {
    let tsn =
        prop_oneof![any::<u32>(), (u32::MAX - 200)..=u32::MAX, (i32::MAX as u32 - 100)..(1u32 << 31) + 5];
    (tsn, 0..3usize, any::<[bool; 4]>()).prop_map(
        |(initial_tsn, congestion, [interleaving, no_forward, fair, reliable])| Setting {
            initial_tsn,
            interleaving,
            forward_tsn: !no_forward || !reliable,
            schedule: if fair { Schedule::WeightedFair } else { Schedule::RoundRobin },
            congestion: [Congestion::Bbr, Congestion::Cubic, Congestion::NewReno][congestion],
            reliable,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let length = prop_oneof![4 => 1..200usize, 4 => 900..1300usize, 1 => 1..12_000usize];
    let reliability = prop_oneof![
        2 => Just(Reliability::Reliable),
        1 => (0..3u16).prop_map(Reliability::MaxRetransmits),
        1 => (0..400u64).prop_map(|t| Reliability::MaxLifetime(ms(t))),
    ];
    let send =
        (0..4u16, length, any::<bool>(), reliability).prop_map(|(stream, length, unordered, reliability)| {
            Step::Send { stream, length, unordered, reliability }
        });
    let step = prop_oneof![
        12 => send,
        12 => Just(Step::Flush),
        8 => (0..50usize).prop_map(Step::Arrive),
        4 => Just(Step::ArriveAll),
        8 => (0..50usize).prop_map(Step::Lose),
        1 => Just(Step::LoseAll),
        2 => (0..50usize).prop_map(Step::Duplicate),
        8 => Just(Step::Answer),
        3 => Just(Step::AnswerLate),
        3 => (0..10usize).prop_map(Step::LateAnswer),
        8 => prop_oneof![0..30u64, 0..1000u64].prop_map(Step::Wait),
        1 => Just(Step::Renege),
        1 => prop_oneof![Just(0), 0..3000u32, Just(BIG_WINDOW)].prop_map(Step::Window),
        1 => prop_oneof![Just(1163usize), Just(2000), Just(9000)].prop_map(Step::PacketBytes),
    ];
    prop::collection::vec(step, 0..150)
}

/// A message, and whether it must arrive.
type Sent = (Vec<u8>, bool);

struct Run {
    rig: Rig,
    setting: Setting,
    wire: VecDeque<Vec<u8>>,
    late: VecDeque<Vec<u8>>,
    /// What was sent, by stream and whether unordered.
    sent: BTreeMap<(u16, bool), Vec<Sent>>,
    count: u32,
}

impl Run {
    fn new(setting: Setting) -> Self {
        let config =
            Config { schedule: setting.schedule, congestion: setting.congestion, ..Config::default() };
        let peer =
            Peer { interleaving: setting.interleaving, forward_tsn: setting.forward_tsn, ..super::peer() };
        Self {
            rig: Rig::with(&config, Tsn(setting.initial_tsn), peer),
            setting,
            wire: VecDeque::new(),
            late: VecDeque::new(),
            sent: BTreeMap::new(),
            count: 0,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Send { stream, length, unordered, reliability } => {
                let reliability = if self.setting.reliable { Reliability::Reliable } else { reliability };
                self.send(stream, length, SendOptions { unordered, reliability });
            }
            Step::Flush => self.wire.extend(self.rig.packets()),
            Step::Arrive(at) => {
                if let Some(packet) = self.wire.remove(at) {
                    self.rig.receiver.take(&packet);
                }
            }
            Step::ArriveAll => self.wire.drain(..).for_each(|packet| self.rig.receiver.take(&packet)),
            Step::Lose(at) => drop(self.wire.remove(at)),
            Step::LoseAll => self.wire.clear(),
            Step::Duplicate(at) => self.wire.extend(self.wire.get(at).cloned()),
            Step::Answer => self.rig.answer(),
            Step::AnswerLate => self.late.push_back(self.rig.receiver.sack()),
            Step::LateAnswer(at) => {
                if let Some(packet) = self.late.remove(at) {
                    self.rig.sack_packet(&packet).unwrap();
                }
            }
            Step::Wait(t) => self.rig.wait(ms(t)),
            // A message of limited reliability may be lost for good by it, and a part of it stay behind.
            Step::Renege if self.setting.reliable => self.rig.receiver.renege(),
            Step::Renege => {}
            Step::Window(bytes) => self.rig.receiver.window = bytes,
            Step::PacketBytes(bytes) => self.rig.out.set_packet_bytes(bytes),
        }
    }

    fn send(&mut self, stream: u16, length: usize, options: SendOptions) {
        self.count += 1;
        let count = self.count.to_le_bytes();
        let message: Vec<u8> = (0..length).map(|i| count[i % 4] ^ (i / 4) as u8).collect();
        let must_arrive = options.reliability == Reliability::Reliable || !self.setting.forward_tsn;
        self.rig.send_with(stream, &message, options);
        self.sent.entry((stream, options.unordered)).or_default().push((message, must_arrive));
    }

    fn finish(mut self) {
        self.wire.drain(..).for_each(|packet| self.rig.receiver.take(&packet));
        self.rig.receiver.window = BIG_WINDOW;
        self.rig.drain();
        assert_eq!(self.rig.receiver.stuck(), 0, "waits for what will not come");
        for ((stream, unordered), sent) in &mut self.sent {
            let receiver = &mut self.rig.receiver;
            let all = if *unordered { &mut receiver.unordered } else { &mut receiver.ordered };
            let mut arrived = all.remove(stream).unwrap_or_default().into_iter().peekable();
            if *unordered {
                sent.sort();
                let mut sorted: Vec<_> = arrived.collect();
                sorted.sort();
                arrived = sorted.into_iter().peekable();
            }
            for (message, must_arrive) in sent {
                let came = arrived.next_if(|next| next == message).is_some();
                assert!(came || !*must_arrive, "stream {stream}: a message is missing");
            }
            assert!(arrived.next().is_none(), "stream {stream}: something was not sent, or came twice");
        }
        assert_eq!(self.rig.out.held, 0);
        self.rig.out.limits.tidy();
        assert_eq!(self.rig.out.limits.len(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(4960),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_message_comes_out_once(setting in settings(), steps in steps()) {
        let mut run = Run::new(setting);
        steps.into_iter().for_each(|step| run.step(step));
        run.finish();
    }

    /// A SACK may have any content.
    #[test]
    fn a_hostile_sack_does_no_harm(
        sends in prop::collection::vec(1..3000usize, 1..40),
        sacks in prop::collection::vec(
            (-5..60i32, prop::collection::vec((0..80u16, 0..80u16), 0..12), any::<u32>(), any::<bool>()),
            1..30,
        ),
    ) {
        let mut rig = Rig::new();
        for length in sends {
            rig.send_with(1, &vec![1; length], retransmits(3));
        }
        for (cumulative, gaps, window, wait) in sacks {
            rig.packets();
            let tsn = Tsn(FIRST_TSN.0.wrapping_add_signed(cumulative));
            if rig.sack_packet(&receiver::sack(tsn, window, &gaps, &[])).is_err() {
                break;
            }
            if wait {
                rig.sleep();
            }
        }
    }
}
