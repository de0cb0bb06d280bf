//! Two trials at once, by turns: each is frozen while the other one runs.
//!
//! Both are set up one after the other, pass their gates, and stay alive. From then on the machine is given to one of them at a
//! time, for a tenth of a second or so, in an order that a seed decides. A machine that is slow for a second is slow for
//! both. The contract is unchanged: what counts are counters and the meter's readings at marks.
//!
//! A turn: thaw, let the lead pass, read the meter, mark, let the turn pass, mark, read the meter, freeze.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::stage::{Halt, Stage};
use super::{Collected, Progress, TrialReport, TrialSpec, connect_and_verify, report, stop, warm_up};
use crate::arena::Arena;
use crate::plan::{self, Turn};
use crate::protocol::Phase;
use crate::store::Turns;
use crate::window::METER_DEEP;

/// One side of a duel, by its index.
pub type Side = usize;

/// How a session is cut into turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnPlan {
    /// What counts of a turn.
    pub turn: Duration,
    /// What goes before it, from the thaw on.
    pub lead: Duration,
    /// Turns of each side.
    pub count: u32,
    /// For how long each side is also left alone, if it is.
    pub stretch: Option<Duration>,
    /// Decides the order.
    pub seed: u64,
}

impl TurnPlan {
    /// About how long all the turns take, of both sides.
    #[must_use]
    pub fn length(&self) -> Duration {
        let stretch = self.stretch.map_or(Duration::ZERO, |s| s + self.lead);
        2 * (self.count * (self.turn + self.lead) + stretch)
    }
}

/// What a session of a duel is to be.
#[derive(Debug)]
pub struct DuelSpec<'a> {
    /// Who takes turns.
    pub sides: [TrialSpec<'a>; 2],
    /// For the record: the cells of the sides, in their order.
    pub cells: [usize; 2],
    /// The turns.
    pub turns: TurnPlan,
}

/// What came of a session: a report a side. Where one side ended it, the other one has none.
#[derive(Debug)]
pub struct DuelReport {
    /// In the order of the sides.
    pub sides: [Option<TrialReport>; 2],
}

/// Runs one session. Whatever happens comes back in the reports.
pub fn run(
    spec: &DuelSpec<'_>,
    arenas: [&Arena; 2],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Side, Progress),
) -> DuelReport {
    let (started_at, begun) = (Timestamp::now(), Instant::now());
    let mut collected = [1, 0].map(|other| Collected {
        turns: Some(Turns {
            opponent: spec.cells[other],
            freezer: String::new(),
            turn_ns: nanoseconds(spec.turns.turn),
            lead_ns: nanoseconds(spec.turns.lead),
            count: spec.turns.count,
            stretch: spec.turns.stretch.is_some(),
        }),
        ..Collected::default()
    });
    let ended = conduct(spec, arenas, cancel, progress, &mut collected);
    let took = begun.elapsed();
    let (at_fault, mut halt) = match ended {
        Ok(()) => (None, None),
        Err((side, halt)) => (Some(side), Some(halt)),
    };
    let mut side = 0;
    let sides = collected.map(|collected| {
        let this = side;
        side += 1;
        if at_fault.is_some_and(|at_fault| at_fault != this) {
            return None;
        }
        let ended = halt.take().map_or(Ok(()), Err);
        Some(report(&spec.sides[this], collected, ended, started_at, took))
    });
    DuelReport { sides }
}

/// Which side it was that did not go on.
type Ended = Result<(), (Side, Halt)>;

fn conduct(
    spec: &DuelSpec<'_>,
    arenas: [&Arena; 2],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Side, Progress),
    [first, second]: &mut [Collected; 2],
) -> Ended {
    let of = |side: Side| move |halt: Halt| (side, halt);
    progress(0, Progress::Launching);
    // Both at once: an interpreter that starts costs nobody's figures. What does comes one after the other.
    let mut stages = [
        Stage::launch(&spec.sides[0], arenas[0], cancel, first).map_err(of(0))?,
        Stage::launch(&spec.sides[1], arenas[1], cancel, second).map_err(of(1))?,
    ];
    for (side, stage) in stages.iter_mut().enumerate() {
        stage.until_ready().map_err(of(side))?;
    }
    for (side, stage) in stages.iter_mut().enumerate() {
        let mut progress = |p| progress(side, p);
        connect_and_verify(&spec.sides[side], stage, &mut progress).map_err(of(side))?;
        stage.freeze(true).map_err(of(side))?;
    }
    for (side, stage) in stages.iter_mut().enumerate() {
        progress(side, Progress::WarmingUp);
        stage.freeze(false).map_err(of(side))?;
        warm_up(&spec.sides[side], stage).map_err(of(side))?;
        stage.start(Phase::Measure);
        stage.freeze(true).map_err(of(side))?;
    }
    progress(0, Progress::Measuring);
    let mut taken = [0; 2];
    for turn in plan::turns(spec.turns.seed, spec.turns.count, spec.turns.stretch.is_some()) {
        take(&spec.turns, turn, &mut taken, &mut stages[turn.side]).map_err(of(turn.side))?;
    }
    for (side, stage) in stages.iter_mut().enumerate() {
        // Walking page tables takes its time from a contender that runs: these stand still.
        stage.meter(METER_DEEP, true).map_err(of(side))?;
    }
    for (side, stage) in stages.iter_mut().enumerate() {
        progress(side, Progress::Stopping);
        stage.freeze(false).map_err(of(side))?;
        stop(&spec.sides[side], stage).map_err(of(side))?;
    }
    Ok(())
}

/// One turn of one side.
fn take(plan: &TurnPlan, turn: Turn, taken: &mut [u32; 2], stage: &mut Stage<'_>) -> Result<(), Halt> {
    let (index, length) = match plan.stretch.filter(|_| turn.stretch) {
        Some(stretch) => (plan.count, stretch),
        None => {
            taken[turn.side] += 1;
            (taken[turn.side] - 1, plan.turn)
        }
    };
    let (begin, end) = Turns::marks_of(index);
    stage.freeze(false)?;
    stage.sleep(plan.lead)?;
    stage.meter(begin, false)?;
    stage.mark(begin)?;
    stage.sleep(length)?;
    stage.mark(end)?;
    stage.meter(end, false)?;
    stage.freeze(true)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
