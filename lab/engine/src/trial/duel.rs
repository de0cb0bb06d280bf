//! Several trials at the same time, in turns: all are frozen except one.
//!
//! They are launched and set up one after the other, pass their gates, and stay alive. Then each has the machine in
//! turn, in an order that depends on the seed, so that a slow second affects all sides alike. Contenders need no
//! changes: only counters and meter readings at marks are used.
//!
//! A turn: thaw, lead, meter, mark, measured time, mark, meter, freeze. To inject a slowdown, a side is also frozen
//! after the first mark; the others are frozen and thawed immediately, so that all have the cost of freezing.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::stage::Stage;
use super::{Collected, Progress, TrialReport, TrialSpec, nanoseconds, report, set_up, stop, warm_up};
use crate::plan::{self, PlannedTurn};
use netdyno_lab_arena::Arena;
use netdyno_lab_protocol::Phase;
use netdyno_lab_store::samples::METER_DEEP;
use netdyno_lab_store::{Outcome, Turns};

/// The index of a side.
pub type SideIndex = usize;

/// The turns of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPlan {
    /// Measured time of a turn.
    pub turn: Duration,
    /// Unmeasured time after the thaw.
    pub lead: Duration,
    /// Turns of each side.
    pub count: u32,
    /// Time for which each side is frozen within its turns; empty: none.
    pub stalled: Vec<Duration>,
    /// The sides with a stretch.
    pub undisturbed: Vec<SideIndex>,
    /// Length of a stretch.
    pub stretch: Duration,
    /// Requests that a freeze may interrupt; none: one per connection.
    pub under_way: Option<u64>,
    /// Determines the order.
    pub seed: u64,
}

impl TurnPlan {
    /// The approximate length of all turns.
    pub fn length(&self, sides: usize) -> Duration {
        let turns = sides as u32 * self.count * (self.turn + self.lead);
        turns + self.undisturbed.len() as u32 * (self.stretch + self.lead)
    }
}

/// Runs one session and returns a report for each side. If one side ended the session, the others have none.
pub fn run(
    specs: &[TrialSpec<'_>],
    turns: &TurnPlan,
    arenas: &[Arena],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(SideIndex, Progress),
) -> Vec<Option<TrialReport>> {
    let (started_at, begun) = (Timestamp::now(), Instant::now());
    let fresh = |side: SideIndex| Collected {
        turns: Some(Turns {
            freezer: String::new(),
            turn_ns: nanoseconds(turns.turn),
            lead_ns: nanoseconds(turns.lead),
            count: turns.count,
            stretch: turns.undisturbed.contains(&side),
            under_way: turns.under_way,
        }),
        ..Collected::default()
    };
    let mut collected: Vec<Collected> = (0..specs.len()).map(fresh).collect();
    let ended = conduct(specs, turns, arenas, cancel, progress, &mut collected).err();
    let took = begun.elapsed();
    let sides = specs.iter().zip(collected).enumerate();
    sides
        .map(|(side, (spec, collected))| {
            let outcome = match &ended {
                None => Outcome::Ok,
                Some((at_fault, outcome)) if *at_fault == side => outcome.clone(),
                Some(_) => return None,
            };
            Some(report(spec, collected, outcome, started_at, took))
        })
        .collect()
}

/// Returns the side that ended the session, and how.
fn conduct(
    specs: &[TrialSpec<'_>],
    turns: &TurnPlan,
    arenas: &[Arena],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(SideIndex, Progress),
    collected: &mut [Collected],
) -> Result<(), (SideIndex, Outcome)> {
    let of = |side: SideIndex| move |outcome| (side, outcome);
    progress(0, Progress::Launching);
    let mut stages: Vec<Stage<'_>> = Vec::with_capacity(specs.len());
    for (side, ((spec, arena), collected)) in specs.iter().zip(arenas).zip(collected).enumerate() {
        // One after the other, so that one side's start does not affect another's setup time.
        let stage = set_up(spec, arena, cancel, collected, &mut |p| progress(side, p));
        let mut stage = stage.map_err(of(side))?;
        stage.freeze(true).map_err(of(side))?;
        stages.push(stage);
    }
    for (side, stage) in stages.iter_mut().enumerate() {
        progress(side, Progress::WarmingUp);
        stage.freeze(false).map_err(of(side))?;
        warm_up(&specs[side], stage).map_err(of(side))?;
        stage.start(Phase::Measure);
        stage.freeze(true).map_err(of(side))?;
    }
    progress(0, Progress::Measuring);
    for turn in plan::turns(turns.seed, stages.len(), turns.count, &turns.undisturbed) {
        take(turns, turn, &mut stages[turn.side]).map_err(of(turn.side))?;
    }
    for (side, stage) in stages.iter_mut().enumerate() {
        // Walking page tables slows a running contender down: these are frozen.
        stage.meter(METER_DEEP, true).map_err(of(side))?;
    }
    for (side, stage) in stages.iter_mut().enumerate() {
        progress(side, Progress::Stopping);
        stage.freeze(false).map_err(of(side))?;
        stop(&specs[side], stage).map_err(of(side))?;
    }
    Ok(())
}

fn take(plan: &TurnPlan, turn: PlannedTurn, stage: &mut Stage<'_>) -> Result<(), Outcome> {
    // The stretch has the marks after those of the turns.
    let (index, length) = turn.index.map_or((plan.count, plan.stretch), |index| (index, plan.turn));
    let (begin, end) = Turns::marks_of(index);
    stage.freeze(false)?;
    stage.sleep(plan.lead)?;
    stage.meter(begin, false)?;
    stage.mark(begin)?;
    let begun = Instant::now();
    if let (Some(time), Some(_)) = (plan.stalled.get(turn.side), turn.index) {
        stage.freeze(true)?;
        stage.sleep(*time)?;
        stage.freeze(false)?;
    }
    stage.sleep(length.saturating_sub(begun.elapsed()))?;
    stage.mark(end)?;
    stage.meter(end, false)?;
    stage.freeze(true)
}
