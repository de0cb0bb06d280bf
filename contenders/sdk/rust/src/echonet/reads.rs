//! Reads under way, for a loop that sends and receives itself.

use super::{Controller, MAX_OUTSTANDING, Property, READS, ROUND, TICK, Unanswered};
use crate::Phase;

/// Turns of a TID's place, from 1: a TID is never 0.
const TURNS: u16 = u16::MAX / MAX_OUTSTANDING as u16;

/// A read that is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// A number that no other read under way has; of use as its TID.
    pub tid: u16,
    /// What to read.
    pub property: Property,
}

/// A place for a read under way.
#[derive(Debug, Clone, Copy)]
struct Place {
    turn: u16,
    /// Its place in a round, while it is under way.
    index: Option<u8>,
    sent_ns: u64,
}

/// How far the trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was read yet.
    Before,
    /// The twelve, one after the other.
    Verify,
    /// From the warm-up on.
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
    looked_ns: u64,
}

impl Controller {
    /// The reads of a loop that sends and receives itself. Call it once.
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
            looked_ns: 0,
        }
    }

    /// The next read, if another one may be under way. Waits for the phase that it belongs to.
    #[expect(clippy::should_implement_trait, reason = "it goes on after none")]
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

    /// It is about to be sent: the clock as it was read right before.
    pub fn sent(&mut self, tid: u16, at_ns: u64) {
        self.places[usize::from(tid) % MAX_OUTSTANDING].sent_ns = at_ns;
    }

    /// What the read of this TID is of, while it is under way.
    pub fn under_way(&self, tid: u16) -> Option<Property> {
        self.index_of(tid).map(|(_, index)| READS[index])
    }

    /// An answer came, and when; no value: it was refused. False: no such read is under way, and the answer is late.
    pub fn answered(&mut self, tid: u16, value: Option<&[u8]>, at_ns: u64) -> bool {
        let Some((place, index)) = self.index_of(tid) else {
            self.controller.note_late();
            return false;
        };
        self.settle(place, index, at_ns, value.ok_or(Unanswered::Refused));
        // Where answers keep coming, nobody waits for long enough to look.
        if at_ns.saturating_sub(self.looked_ns) >= TICK.as_nanos() as u64 {
            self.look(at_ns);
        }
        true
    }

    /// Gives up what was sent too long ago. For a loop that waited [`TICK`] for nothing.
    pub fn look(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
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
            Stage::Before | Stage::Verify => self.controller.keep(value),
            Stage::Loop => self.controller.note(0, index, self.places[place].sent_ns, at_ns, value),
        }
    }
}
