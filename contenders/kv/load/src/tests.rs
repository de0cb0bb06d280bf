//! A lane with a minimal server: compares its requests with the drawn operations, and its counters with the answers.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use netdyno_contender::kv::turns::{self, Kind, Outbox, Service, Size, Wait};
use netdyno_contender::kv::{Values, append_get, append_set, split_mix};

use crate::draw::Draw;
use crate::draw::Operation;
use crate::frames::{Frames, OK};
use crate::lane::{Lane, Tally};

fn frames(value_bytes: usize) -> Frames {
    Frames::new(Box::leak(Box::new(Values::new(9, value_bytes))))
}

fn operations(count: u64) -> Vec<Operation> {
    (0..count).map(|n| Operation::new(n % 3 == 1, n * 7919 % 10_000_000)).collect()
}

fn requests(frames: &Frames, operations: &[Operation]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for operation in operations {
        if operation.is_set() {
            append_set(&mut bytes, operation.key(), frames.values);
        } else {
            append_get(&mut bytes, operation.key());
        }
    }
    bytes
}

fn answers(frames: &Frames, operations: &[Operation]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for operation in operations {
        if operation.is_set() {
            bytes.extend_from_slice(OK);
        } else {
            bytes.extend_from_slice(&frames.answer_head);
            frames.values.append(&mut bytes, operation.key());
            bytes.extend_from_slice(b"\r\n");
        }
    }
    bytes
}

/// One lane over a socket, whose peer checks the requests.
struct Alone {
    frames: Frames,
    lane: Lane,
    tally: Tally,
    asked: VecDeque<Operation>,
}

impl Service for Alone {
    fn turn(&mut self, ready: &mut Vec<usize>) -> Wait {
        if !self.asked.is_empty() {
            self.asked.drain(..).for_each(|operation| self.lane.ask(operation, 0));
            ready.push(0);
        }
        Wait::Long
    }

    fn received(&mut self, _: usize, bytes: &[u8], _: u64) -> Result<bool, String> {
        self.lane.take(&self.frames, bytes, &mut self.tally, |_, _| {})?;
        if self.lane.outstanding() == 0 { Err("done".to_owned()) } else { Ok(false) }
    }

    fn write(&mut self, _: usize, out: &mut Outbox) {
        self.lane.write(&self.frames, out, 1);
    }

    fn sent(&mut self, _: usize, bytes: usize) {
        self.lane.sent(&self.frames, bytes);
    }

    fn unsent(&self, _: usize) -> bool {
        self.lane.unsent()
    }

    fn opened(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn closed(&mut self, _: usize, reason: &str) -> Result<(), String> {
        Err(reason.to_owned())
    }
}

#[test]
fn requests_are_sent_completely_and_in_order_with_partial_sends() {
    for kind in Kind::supported().iter().copied() {
        for (value_bytes, count) in
            [(1, 1), (3, 5000), (1024, 3000), (1033, 3000), (65_536, 100), (1 << 20, 10)]
        {
            let (frames, asked) = (frames(value_bytes), operations(count));
            let (wanted, answered) = (requests(&frames, &asked), answers(&frames, &asked));
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut there = listener.accept().unwrap().0;
            let server = std::thread::spawn(move || {
                let mut got = vec![0; wanted.len()];
                there.read_exact(&mut got).unwrap();
                there.write_all(&answered).unwrap();
                got == wanted
            });
            let lane = Lane::new(Draw::new(1, 0), count as usize, false, 0);
            let mut alone = Alone { frames, lane, tally: Tally::default(), asked: asked.clone().into() };
            let Err(ended) =
                turns::run(kind, &mut alone, vec![here], None, Size { connections: 1, receive_bytes: 1000 });
            assert_eq!(ended, "done", "{value_bytes}");
            assert!(server.join().unwrap(), "{kind:?} {value_bytes}");
            let sets = asked.iter().filter(|operation| operation.is_set()).count() as u64;
            assert_eq!(alone.tally, Tally { sets, gets: count - sets, wrong: 0 });
        }
    }
}

#[test]
fn an_excess_answer_is_an_error() {
    let frames = frames(3);
    let mut lane = Lane::new(Draw::new(1, 0), 1, false, 0);
    let message = lane.take(&frames, b"+OK\r\n", &mut Tally::default(), |_, _| {}).unwrap_err();
    assert_eq!(message, "more answers than requests");
}

/// Right and wrong answers of all types, split at random: each is counted once and correctly.
#[test]
fn a_stream_of_answers_is_checked_with_any_segmentation() {
    for seed in 0..300u64 {
        let mut n = 0;
        let mut random = |of: u64| {
            n += 1;
            split_mix(seed, n) % of
        };
        let frames = frames([1, 3, 8, 40, 3000][random(5) as usize]);
        let asked: Vec<Operation> =
            (0..1 + random(40)).map(|_| Operation::new(random(2) == 1, random(1000))).collect();
        let (mut stream, mut wrong) = (Vec::new(), 0);
        for operation in &asked {
            let mut right = answers(&frames, &[*operation]);
            let kind = random(8);
            wrong += u64::from(kind < 5);
            match kind {
                0 => stream.extend_from_slice(b"-ERR busy\r\n"),
                1 => stream.extend_from_slice(b"$-1\r\n"),
                2 => stream.extend_from_slice(b":5\r\n"),
                3 => stream.extend_from_slice(b"$7\r\n\r\n$3\r\n\n\r\n"),
                4 => {
                    // Change a byte of the value, or the K in the answer to a SET.
                    let at = if operation.is_set() { 2 } else { frames.answer_head.len() };
                    right[at] ^= 1;
                    stream.extend_from_slice(&right);
                }
                _ => stream.extend_from_slice(&right),
            }
        }
        let mut lane = Lane::new(Draw::new(1, 0), asked.len(), false, 0);
        asked.iter().for_each(|operation| lane.ask(*operation, 0));
        lane.write(&frames, &mut Outbox::for_tests(), 0);
        lane.sent(&frames, lane.written_bytes());
        let (mut tally, mut count, mut from) = (Tally::default(), 0, 0);
        while from < stream.len() {
            let to = (from + 1 + random(50) as usize).min(stream.len());
            lane.take(&frames, &stream[from..to], &mut tally, |_, _| count += 1).unwrap();
            from = to;
        }
        let sets = asked.iter().filter(|operation| operation.is_set()).count() as u64;
        assert_eq!(tally, Tally { sets, gets: asked.len() as u64 - sets, wrong }, "seed {seed}");
        assert_eq!((count, lane.outstanding()), (asked.len(), 0), "seed {seed}");
    }
}
