//! The load: which connection sends what, and when.

use netdyno_contender::kv::turns::{Outbox, Service, Wait};
use netdyno_contender::kv::{Pacing, Values};
use netdyno_contender::now_ns;

use crate::books::Books;
use crate::draw::{Draw, Mix};
use crate::frames::Frames;
use crate::lane::{Lane, Tally, Times};
use crate::pacer::Pacer;

/// Texts of errors that are told.
const MAX_TOLD: u64 = 10;

pub struct Load {
    books: &'static Books,
    frames: Frames,
    mix: Mix,
    lanes: Vec<Lane>,
    pipeline: usize,
    tally: Tally,
    told: u64,
    /// None: a closed loop.
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
            told: 0,
            pacer: open_loop.then(|| Pacer::new(job.rate, t0_ns)),
            turn: 0,
            begun: false,
        }
    }

    /// Puts what is due by now to its connections.
    fn take_due(&mut self, ready: &mut Vec<usize>) {
        let Some(pacer) = &mut self.pacer else { return };
        let at_ns = now_ns();
        while let Some((n, due_ns)) = pacer.pop(at_ns) {
            let number = self.turn;
            self.turn = if number + 1 == self.lanes.len() { 0 } else { number + 1 };
            let lane = &mut self.lanes[number];
            // Another one is due on this connection before: this one has to wait, and is thought of when an answer comes.
            if lane.next != n || lane.under_way() == self.pipeline {
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

    /// Goes on after answers: in a closed loop with the next batch, in an open one with what is late.
    fn go_on(&mut self, number: usize) -> bool {
        let lane = &mut self.lanes[number];
        match &self.pacer {
            None if lane.under_way() == 0 => {
                for _ in 0..self.pipeline {
                    let operation = self.mix.next(&mut lane.draw);
                    lane.ask(operation, 0);
                }
                true
            }
            None => false,
            Some(pacer) => {
                while lane.next < pacer.next() && lane.under_way() < self.pipeline {
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
                self.take_due(ready);
                match (&self.pacer, self.books.job.pacing) {
                    (Some(pacer), Pacing::Timer) => Wait::UntilNs(pacer.next_due_ns()),
                    _ => Wait::Not,
                }
            }
        }
    }

    fn received(&mut self, number: usize, bytes: &[u8], at_ns: u64) -> Result<bool, String> {
        let (books, told, open_loop) = (self.books, &mut self.told, self.pacer.is_some());
        let (mut answers, mut last) = (0, Times::default());
        let on_answer = |times: Times, error: Option<String>| {
            if open_loop {
                books.record(times, at_ns, 1);
            }
            (answers, last) = (answers + 1, times);
            if let Some(error) = error.filter(|_| *told < MAX_TOLD) {
                *told += 1;
                eprintln!("connection {number}: the server answered `{error}`");
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
