//! Several trials at once, by turns: all are frozen but the one that runs.
//!
//! They are launched and set up one after the other, pass their gates, and stay alive. From then on the machine is given to one of them at a
//! time, in an order that a seed decides. A machine that is slow for a second is slow for all. The contract is unchanged: what
//! counts are counters and the meter's readings at marks.
//!
//! A turn: thaw, let the lead pass, read the meter, mark, let the turn pass, mark, read the meter, freeze. Where a loss of known size is
//! put in, a side also stands still for a while after the first mark; the others are frozen and thawed at once, so that all pay for it.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::stage::{Halt, Stage};
use super::{Collected, Progress, TrialReport, TrialSpec, connect_and_verify, report, stop, warm_up};
use crate::plan::{self, Turn};
use netdyno_lab_arena::Arena;
use netdyno_lab_protocol::Phase;
use netdyno_lab_store::Turns;
use netdyno_lab_store::samples::METER_DEEP;

/// One of those who take turns, by its index.
pub type Side = usize;

/// How a session is cut into turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPlan {
    /// What counts of a turn.
    pub turn: Duration,
    /// What goes before it, from the thaw on.
    pub lead: Duration,
    /// Turns of each side.
    pub count: u32,
    /// How long each side is made to stand still within each of its turns; empty: nobody is.
    pub stalled: Vec<Duration>,
    /// Who is also left alone for a stretch.
    pub undisturbed: Vec<Side>,
    /// How long that is.
    pub stretch: Duration,
    /// Requests that a freeze may meet under way; none: one a connection.
    pub under_way: Option<u64>,
    /// Decides the order.
    pub seed: u64,
}

impl TurnPlan {
    /// About how long all the turns take, of so many sides.
    #[must_use]
    pub fn length(&self, sides: usize) -> Duration {
        let turns = sides as u32 * self.count * (self.turn + self.lead);
        turns + self.undisturbed.len() as u32 * (self.stretch + self.lead)
    }
}

/// Runs one session: a report of each side, in their order. Where one of them ended it, the others have none. Whatever happens
/// comes back in the reports.
pub fn run(
    specs: &[TrialSpec<'_>],
    turns: &TurnPlan,
    arenas: &[Arena],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Side, Progress),
) -> Vec<Option<TrialReport>> {
    let (started_at, begun) = (Timestamp::now(), Instant::now());
    let fresh = |side: Side| Collected {
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
    let ended = conduct(specs, turns, arenas, cancel, progress, &mut collected);
    let took = begun.elapsed();
    let (at_fault, mut halt) = match ended {
        Ok(()) => (None, None),
        Err((side, halt)) => (Some(side), Some(halt)),
    };
    let sides = specs.iter().zip(collected).enumerate();
    sides
        .map(|(side, (spec, collected))| {
            if at_fault.is_some_and(|at_fault| at_fault != side) {
                return None;
            }
            let ended = halt.take().map_or(Ok(()), Err);
            Some(report(spec, collected, ended, started_at, took))
        })
        .collect()
}

/// Which side it was that did not go on.
type Ended = Result<(), (Side, Halt)>;

fn conduct(
    specs: &[TrialSpec<'_>],
    turns: &TurnPlan,
    arenas: &[Arena],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Side, Progress),
    collected: &mut [Collected],
) -> Ended {
    let of = |side: Side| move |halt: Halt| (side, halt);
    progress(0, Progress::Launching);
    let mut stages: Vec<Stage<'_>> = Vec::with_capacity(specs.len());
    for (side, ((spec, arena), collected)) in specs.iter().zip(arenas).zip(collected).enumerate() {
        let stage = set_up(spec, arena, cancel, collected, &mut |p| progress(side, p));
        stages.push(stage.map_err(of(side))?);
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
        // Walking page tables takes its time from a contender that runs: these stand still.
        stage.meter(METER_DEEP, true).map_err(of(side))?;
    }
    for (side, stage) in stages.iter_mut().enumerate() {
        progress(side, Progress::Stopping);
        stage.freeze(false).map_err(of(side))?;
        stop(&specs[side], stage).map_err(of(side))?;
    }
    Ok(())
}

/// From the launch to the gate; then it stands still. One side after the other: whose interpreter starts, or who makes its keys
/// already, would be in the setup time of another.
fn set_up<'a>(
    spec: &TrialSpec<'_>,
    arena: &Arena,
    cancel: &'a AtomicBool,
    collected: &'a mut Collected,
    progress: &mut dyn FnMut(Progress),
) -> Result<Stage<'a>, Halt> {
    let mut stage = Stage::launch(spec, arena, cancel, collected)?;
    stage.until_ready()?;
    connect_and_verify(spec, &mut stage, progress)?;
    stage.freeze(true)?;
    Ok(stage)
}

/// One turn of one side.
fn take(plan: &TurnPlan, turn: Turn, stage: &mut Stage<'_>) -> Result<(), Halt> {
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

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
