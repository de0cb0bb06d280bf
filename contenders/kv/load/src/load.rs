//! The load generator: the scheduling of operations on connections.

use netdyno_contender::kv::turns::{Outbox, Service, Wait};
use netdyno_contender::kv::{Pacing, Values};
use netdyno_contender::now_ns;

use crate::books::Books;
use crate::draw::{Draw, Mix};
use crate::frames::Frames;
use crate::lane::{Lane, Tally, Times};
use crate::pacer::Pacer;

/// Maximum number of printed error texts.
const MAX_PRINTED: u64 = 10;

pub struct Load {
    books: &'static Books,
    frames: Frames,
    mix: Mix,
    lanes: Vec<Lane>,
    pipeline: usize,
    tally: Tally,
    printed: u64,
    /// `None` in a closed loop.
    pacer: Option<Pacer>,
    /// The connection of the pacer's next operation.
    turn: usize,
    begun: bool,
}

impl Load {
    pub fn new(books: &'static Books, t0_ns: u64) -> Self {
        let job = &books.job;
        let open_loop = job.rate > 0;
        let lane = |i| Lane::new(Draw::new(job.seed, i), job.pipeline, open_loop, i as u64);
        Self {
            books,
            frames: Frames::new(Box::leak(Box::new(Values::new(job.seed, job.value_bytes)))),
            mix: Mix::new(job),
            lanes: (0..job.connections).map(lane).collect(),
            pipeline: job.pipeline,
            tally: Tally::default(),
            printed: 0,
            pacer: open_loop.then(|| Pacer::new(job.rate, t0_ns)),
            turn: 0,
            begun: false,
        }
    }

    /// Adds due operations to their connections.
    fn take_due(&mut self, ready: &mut Vec<usize>, at_ns: u64) {
        let Some(pacer) = &mut self.pacer else { return };
        while let Some((n, due_ns)) = pacer.pop(at_ns) {
            let number = self.turn;
            self.turn = if number + 1 == self.lanes.len() { 0 } else { number + 1 };
            let lane = &mut self.lanes[number];
            // An earlier operation of this connection is waiting: this one is added after an answer.
            if lane.next != n || lane.outstanding() == self.pipeline {
                continue;
            }
            let operation = self.mix.next(&mut lane.draw);
            let unsent = lane.unsent();
            lane.ask(operation, due_ns);
            lane.next = n + self.books.job.connections as u64;
            if !unsent {
                ready.push(number);
            }
        }
    }

    /// Continues after answers: with the next batch in a closed loop, with late operations in an open one.
    fn go_on(&mut self, number: usize) -> bool {
        let lane = &mut self.lanes[number];
        match &self.pacer {
            None if lane.outstanding() == 0 => {
                for _ in 0..self.pipeline {
                    let operation = self.mix.next(&mut lane.draw);
                    lane.ask(operation, 0);
                }
                true
            }
            None => false,
            Some(pacer) => {
                while lane.next < pacer.next() && lane.outstanding() < self.pipeline {
                    let operation = self.mix.next(&mut lane.draw);
                    lane.ask(operation, pacer.due_ns(lane.next));
                    lane.next += self.books.job.connections as u64;
                }
                lane.unsent()
            }
        }
    }
}

impl Service for Load {
    fn turn(&mut self, ready: &mut Vec<usize>) -> Wait {
        self.books.publish(&self.tally);
        match &self.pacer {
            None if !self.begun => {
                self.begun = true;
                ready.extend((0..self.lanes.len()).filter(|number| self.go_on(*number)));
                Wait::Long
            }
            None => Wait::Long,
            Some(_) => {
                self.take_due(ready, now_ns());
                match (&self.pacer, self.books.job.pacing) {
                    (Some(pacer), Pacing::Timer) => Wait::UntilNs(pacer.next_due_ns()),
                    _ => Wait::Not,
                }
            }
        }
    }

    fn received(&mut self, number: usize, bytes: &[u8], at_ns: u64) -> Result<bool, String> {
        let (books, printed, open_loop) = (self.books, &mut self.printed, self.pacer.is_some());
        let (mut answers, mut last) = (0, Times::default());
        let on_answer = |times: Times, error: Option<String>| {
            if open_loop {
                books.record(times, at_ns, 1);
            }
            (answers, last) = (answers + 1, times);
            if let Some(error) = error.filter(|_| *printed < MAX_PRINTED) {
                *printed += 1;
                eprintln!("connection {number}: the server returned `{error}`");
            }
        };
        self.lanes[number]
            .take(&self.frames, bytes, &mut self.tally, on_answer)
            .map_err(|reason| format!("connection {number}: {reason}"))?;
        if answers == 0 {
            return Ok(false);
        }
        if !open_loop {
            books.record(last, at_ns, answers);
        }
        Ok(self.go_on(number))
    }

    fn write(&mut self, number: usize, out: &mut Outbox) {
        let lane = &mut self.lanes[number];
        if lane.unsent() {
            lane.write(&self.frames, out, now_ns());
        }
    }

    fn sent(&mut self, number: usize, bytes: usize) {
        self.lanes[number].sent(&self.frames, bytes);
    }

    fn unsent(&self, number: usize) -> bool {
        self.lanes[number].unsent()
    }

    fn opened(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn closed(&mut self, number: usize, reason: &str) -> Result<(), String> {
        let of = self.lanes.len();
        Err(format!("connection {} of {of} was lost under load: {reason}", number + 1))
    }
}

#[cfg(test)]
mod tests {
    use netdyno_contender::Lab;
    use serde_json::json;

    use super::*;

    const T0_NS: u64 = 1_000_000;

    fn load(connections: usize, pipeline: usize, rate: u64) -> Load {
        let setup = json!({
            "protocol": 1, "workload": "kv", "role": "load", "seed": 1, "local": "127.0.0.1", "peer": "127.0.0.1",
            "params": { "connections": connections, "pipeline": pipeline, "value_bytes": 3, "keys": 10, "set_percent": 100,
                        "distribution": "uniform", "rate": rate, "pacing": "spin", "seconds": 1.0, "verify_keys": 3 },
        });
        let books = Books::new(Lab::for_tests(), &serde_json::from_value(setup).unwrap());
        Load::new(Box::leak(Box::new(books)), T0_NS)
    }

    /// Sends all unsent data.
    fn send_all(load: &mut Load) {
        for lane in &mut load.lanes {
            let mut out = Outbox::for_tests();
            lane.write(&load.frames, &mut out, 0);
            let bytes = lane.written_bytes();
            lane.sent(&load.frames, bytes);
        }
    }

    fn outstanding(load: &Load) -> Vec<usize> {
        load.lanes.iter().map(Lane::outstanding).collect()
    }

    #[test]
    fn a_closed_loop_sends_batches_after_all_answers() {
        let mut load = load(2, 3, 0);
        let mut ready = Vec::new();
        assert_eq!((load.turn(&mut ready), ready.as_slice()), (Wait::Long, [0, 1].as_slice()));
        assert_eq!(outstanding(&load), [3, 3]);
        send_all(&mut load);
        assert_eq!(load.received(1, b"+OK\r\n+OK\r\n+O", 5), Ok(false));
        assert_eq!(load.received(1, b"K\r\n", 6), Ok(true));
        assert_eq!(outstanding(&load), [3, 3]);
        assert_eq!(load.tally, Tally { sets: 3, gets: 0, wrong: 0 });
        ready.clear();
        assert_eq!((load.turn(&mut ready), ready.as_slice()), (Wait::Long, [0usize; 0].as_slice()));
    }

    #[test]
    fn an_open_loop_follows_its_schedule_and_catches_up() {
        // One operation per millisecond over three connections, with at most one outstanding on each.
        let mut load = load(3, 1, 1000);
        let at = |ms: u64| T0_NS + ms * 1_000_000;
        let none: [usize; 0] = [];
        let due = |load: &mut Load, at_ns| {
            let mut ready = Vec::new();
            load.take_due(&mut ready, at_ns);
            ready
        };
        assert_eq!(due(&mut load, T0_NS - 1), none);
        assert_eq!(due(&mut load, at(0)), [0]);
        assert_eq!(due(&mut load, at(2)), [1, 2]);
        send_all(&mut load);
        // None of the next four can be sent, because all connections are busy. Two of them are due on connection 0.
        assert_eq!(due(&mut load, at(6)), none);
        assert_eq!(outstanding(&load), [1, 1, 1]);
        assert_eq!(load.received(0, b"+OK\r\n", at(6)), Ok(true));
        assert_eq!((load.lanes[0].next, load.lanes[1].next), (6, 4));
        send_all(&mut load);
        assert_eq!(load.received(0, b"+OK\r\n", at(6)), Ok(true));
        send_all(&mut load);
        // It has caught up and waits for number 9.
        assert_eq!(load.received(0, b"+OK\r\n", at(6)), Ok(false));
        assert_eq!(due(&mut load, at(8)), none);
        assert_eq!(due(&mut load, at(9)), [0]);
        // The other connections each have a late operation, which is sent after the next answer.
        assert_eq!(load.received(1, b"+OK\r\n", at(9)), Ok(true));
        assert_eq!((load.lanes[1].next, load.lanes[2].next), (7, 5));
    }

    #[test]
    fn latency_runs_from_the_due_time() {
        let mut load = load(1, 1, 1000);
        load.take_due(&mut Vec::new(), T0_NS + 5_000_000);
        for n in 0..3 {
            let mut times = Vec::new();
            let (lane, frames) = (&mut load.lanes[0], &load.frames);
            lane.write(frames, &mut Outbox::for_tests(), T0_NS + 6_000_000 + n);
            lane.sent(frames, frames.request_bytes(crate::draw::Operation::new(true, 0)));
            lane.take(frames, b"+OK\r\n", &mut load.tally, |one, _| times.push((one.due_ns, one.sent_ns)))
                .unwrap();
            assert_eq!(times, [(T0_NS + n * 1_000_000, T0_NS + 6_000_000 + n)]);
            assert!(load.go_on(0));
        }
    }

    #[test]
    fn errors_count_as_wrong_and_a_lost_connection_ends_the_load() {
        let mut load = load(1, 2, 0);
        load.turn(&mut Vec::new());
        send_all(&mut load);
        assert_eq!(load.received(0, b"-ERR no\r\n$-1\r\n", 1), Ok(true));
        assert_eq!(load.tally, Tally { sets: 2, gets: 0, wrong: 2 });
        assert_eq!(load.closed(0, "closed"), Err("connection 1 of 1 was lost under load: closed".to_owned()));
    }
}
