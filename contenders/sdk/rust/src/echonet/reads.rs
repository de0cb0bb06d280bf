//! Outstanding reads, for adapters that send and receive datagrams themselves.

use super::{Controller, MAX_OUTSTANDING, Property, READS, ROUND, TICK, Unanswered};
use crate::Phase;

/// The number of turns in a TID. They count from 1, so a TID is never 0.
const TURNS: u16 = u16::MAX / MAX_OUTSTANDING as u16;

/// A read to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// A number that no other outstanding read has, usable as its TID.
    pub tid: u16,
    /// The property to read.
    pub property: Property,
}

/// A slot for an outstanding read.
#[derive(Debug, Clone, Copy)]
struct Place {
    turn: u16,
    /// Its index in a round, while it is outstanding.
    index: Option<u8>,
    sent_ns: u64,
}

/// The progress of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing has been read.
    Before,
    /// The twelve reads, one at a time.
    Verify,
    /// The closed loop, from the warm-up on.
    Loop,
}

/// The reads of one thread.
#[derive(Debug)]
pub struct Reads {
    controller: &'static Controller,
    places: Box<[Place]>,
    free: Vec<u8>,
    next: usize,
    stage: Stage,
    timeout_ns: u64,
    checked_ns: u64,
}

impl Controller {
    /// Returns the reads for an adapter's own loop. Call it once.
    pub fn reads(&'static self) -> Reads {
        Reads::new(self)
    }
}

impl Reads {
    fn new(controller: &'static Controller) -> Self {
        let places = vec![Place { turn: 0, index: None, sent_ns: 0 }; controller.outstanding];
        Self {
            controller,
            free: (0..places.len()).rev().map(|place| place as u8).collect(),
            places: places.into(),
            next: 0,
            stage: Stage::Before,
            timeout_ns: u64::try_from(controller.timeout.as_nanos()).unwrap_or(u64::MAX),
            checked_ns: 0,
        }
    }

    /// Returns the next read, or `None` if no further read may be outstanding. Waits for its phase.
    #[expect(clippy::should_implement_trait, reason = "it continues after none")]
    pub fn next(&mut self) -> Option<Read> {
        match self.stage {
            Stage::Before => {
                self.controller.await_phase(Phase::Verify);
                self.stage = Stage::Verify;
            }
            Stage::Verify if self.free.len() < self.places.len() => return None,
            Stage::Verify if self.next == ROUND => {
                self.controller.await_phase(Phase::Warmup);
                (self.stage, self.next) = (Stage::Loop, 0);
            }
            Stage::Verify | Stage::Loop => {}
        }
        let place = self.free.pop()?;
        let index = self.next % ROUND;
        self.next = if self.stage == Stage::Verify { self.next + 1 } else { (index + 1) % ROUND };
        let at = &mut self.places[usize::from(place)];
        at.turn = at.turn % TURNS + 1;
        at.index = Some(index as u8);
        Some(Read { tid: at.turn * MAX_OUTSTANDING as u16 + u16::from(place), property: READS[index] })
    }

    /// Reports that a read is about to be sent. `at_ns` was read right before.
    pub fn sent(&mut self, tid: u16, at_ns: u64) {
        self.places[usize::from(tid) % MAX_OUTSTANDING].sent_ns = at_ns;
    }

    /// Returns the property of the outstanding read with this TID.
    pub fn outstanding(&self, tid: u16) -> Option<Property> {
        self.index_of(tid).map(|(_, index)| READS[index])
    }

    /// Reports an answer; no value means that it was refused. Returns false if no such read is outstanding: the answer is
    /// late.
    pub fn answered(&mut self, tid: u16, value: Option<&[u8]>, at_ns: u64) -> bool {
        let Some((place, index)) = self.index_of(tid) else {
            self.controller.record_late();
            return false;
        };
        self.settle(place, index, at_ns, value.ok_or(Unanswered::Refused));
        // If answers keep arriving, the loop never waits for a tick, so losses are checked here.
        if at_ns.saturating_sub(self.checked_ns) >= TICK.as_nanos() as u64 {
            self.expire(at_ns);
        }
        true
    }

    /// Marks reads as lost whose timeout has passed. Call it if nothing arrives for [`TICK`].
    pub fn expire(&mut self, now_ns: u64) {
        self.checked_ns = now_ns;
        for place in 0..self.places.len() {
            let Place { index, sent_ns, .. } = self.places[place];
            if let Some(index) = index.filter(|_| now_ns.saturating_sub(sent_ns) >= self.timeout_ns) {
                self.settle(place, usize::from(index), now_ns, Err(Unanswered::Lost));
            }
        }
    }

    fn index_of(&self, tid: u16) -> Option<(usize, usize)> {
        let place = usize::from(tid) % MAX_OUTSTANDING;
        let at = self.places.get(place).filter(|at| at.turn == tid / MAX_OUTSTANDING as u16)?;
        Some((place, usize::from(at.index?)))
    }

    fn settle(&mut self, place: usize, index: usize, at_ns: u64, value: Result<&[u8], Unanswered>) {
        self.places[place].index = None;
        self.free.push(place as u8);
        match self.stage {
            Stage::Before | Stage::Verify => self.controller.verify(value),
            Stage::Loop => self.controller.record(0, index, self.places[place].sent_ns, at_ns, value),
        }
    }
}
