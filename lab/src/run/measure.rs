//! The measured part of a run: rounds of sessions and trials, until enough is known.
//!
//! In each round every duel that is not settled has a session, and what is compared by blocks has its block, in an order that
//! the seed decides. All is in the store before the next begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::cells::{note_outcome, roles, wrong_version};
use super::engine::{Engine, RunError};
use super::{Position, TURNS_MAX};
use crate::arena::{Arena, ArenaSpec, CpuPlan};
use crate::build::Built;
use crate::duels;
use crate::manifest::{ParamValue, Params, TurnsSpec, Workload};
use crate::plan;
use crate::protocol::limits::TimeLimits;
use crate::store::{CellStatus, Outcome, Run, Settings, TrialRecord};
use crate::trial::duel::{self, DuelSpec, TurnPlan};
use crate::trial::{self, TrialReport, TrialSpec};
use crate::verdicts;

/// The time by which the window that a contender is told is longer than its turns should take: it ends by `stop`.
const SPARE: Duration = Duration::from_secs(60);

/// What is done at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// One cell on its own: its part of a block.
    Trial(usize),
    /// A session of the duel of two cells.
    Session { contender: usize, baseline: usize },
}

impl Step {
    fn cells(self) -> Vec<usize> {
        match self {
            Step::Trial(cell) => vec![cell],
            Step::Session { contender, baseline } => vec![contender, baseline],
        }
    }

    /// Whether the store has it already.
    fn is_done(self, run: &Run, round: u32) -> bool {
        let opponent = |t: &TrialRecord| t.turns.as_ref().map(|turns| turns.opponent);
        let done = |cell: usize, with: Option<usize>| {
            run.trials.iter().any(|t| {
                t.cell == cell && t.block == round && opponent(t) == with && t.outcome == Outcome::Ok
            })
        };
        match self {
            Step::Trial(cell) => done(cell, None),
            Step::Session { contender, baseline } => done(contender, Some(baseline)),
        }
    }
}

/// What a step needs beside the run.
pub(super) struct Measuring<'a> {
    pub(super) workload: &'a Workload,
    pub(super) plan: &'a CpuPlan,
    pub(super) builds: &'a BTreeMap<String, Built>,
}

impl Engine<'_> {
    /// Measures round by round. Gives why it stopped; none when the user stopped it.
    pub(super) fn rounds(
        &mut self,
        run: &mut Run,
        with: &Measuring<'_>,
    ) -> Result<Option<&'static str>, RunError> {
        let settings = run.header.settings.clone();
        if let Some(spare) = &with.plan.lab {
            // Off the roles' cores; where that is refused, the lab's own cost is small all the same.
            let pinned = crate::arena::pin_self(spare);
            tracing::debug!(?spare, ok = pinned.is_ok(), "the lab keeps to spare cores");
        }
        let mut elapsed_s = elapsed(run);
        for round in 0..settings.max_blocks {
            let steps = steps(run, with.workload, round);
            if steps.is_empty() {
                return Ok(Some(if anything_runs(run) { "decided" } else { "nothing left to measure" }));
            }
            let trials = steps.len();
            for (place, step) in (0u32..).zip(steps) {
                if step.is_done(run, round) || !step.cells().into_iter().all(|cell| is_runnable(run, cell)) {
                    continue;
                }
                let in_duels = matches!(step, Step::Session { .. });
                if in_duels && round > 0 && elapsed_s >= settings.budget_seconds {
                    return Ok(Some("budget"));
                }
                let label = label(run, with.workload, step);
                let at = Position {
                    label: &label,
                    in_duels,
                    block: round,
                    max_blocks: settings.max_blocks,
                    trial: place as usize,
                    trials,
                    window: window(run, with.workload, step),
                    elapsed_s,
                    budget_s: settings.budget_seconds,
                };
                let begun = Instant::now();
                if !self.step(run, with, step, (round, place), &at)? {
                    return Ok(None);
                }
                if step.cells().into_iter().all(|cell| run.cells[cell].status == CellStatus::Ok) {
                    elapsed_s += begun.elapsed().as_secs_f64();
                }
            }
            if elapsed_s >= settings.budget_seconds {
                return Ok(Some("budget"));
            }
        }
        Ok(Some("block limit"))
    }

    /// Does and stores one step. False when the user stopped it.
    fn step(
        &mut self,
        run: &mut Run,
        with: &Measuring<'_>,
        step: Step,
        (round, place): (u32, u32),
        at: &Position<'_>,
    ) -> Result<bool, RunError> {
        let reports = match step {
            Step::Trial(cell) => vec![(cell, self.trial(run, with, cell, round, at)?)],
            Step::Session { contender, baseline } => {
                let cells = [contender, baseline];
                let sides = self.session(run, with, cells, round, at)?;
                cells.into_iter().zip(sides).filter_map(|(cell, report)| Some((cell, report?))).collect()
            }
        };
        let interrupted = |r: &TrialReport| r.record.outcome == Outcome::Interrupted;
        if reports.iter().any(|(_, r)| interrupted(r)) || self.cancel.load(Ordering::Relaxed) {
            return Ok(false);
        }
        for (cell, mut report) in reports {
            report.record.cell = cell;
            report.record.block = round;
            report.record.position = place;
            if let Some(reason) = wrong_version(&run.cells[cell], &report.implementations) {
                report.record.outcome =
                    Outcome::Failed { role: String::new(), reason, stderr: String::new() };
            }
            note_outcome(&mut run.cells[cell], &report.record.outcome, report.implementations);
            if let Outcome::Failed { .. } = &report.record.outcome {
                self.display.failed(&run.cells[cell].label(&with.workload.roles), &run.cells[cell].reason);
            }
            self.store.add_trial(&run.header.id, &report.record)?;
            self.store.update_cell(&run.header.id, cell, &run.cells[cell])?;
            run.trials.push(report.record);
        }
        Ok(true)
    }

    fn trial(
        &mut self,
        run: &Run,
        with: &Measuring<'_>,
        cell: usize,
        round: u32,
        at: &Position<'_>,
    ) -> Result<TrialReport, RunError> {
        let arena = self.arena(run, round)?;
        let spec = spec(run, with, cell, round, &run.cells[cell].params, &arena);
        let display = &mut *self.display;
        Ok(trial::run(&spec, &arena, self.cancel, &mut |p| display.trial(at, p)))
    }

    fn session(
        &mut self,
        run: &Run,
        with: &Measuring<'_>,
        cells: [usize; 2],
        round: u32,
        at: &Position<'_>,
    ) -> Result<[Option<TrialReport>; 2], RunError> {
        let settings = &run.header.settings;
        let params = &run.cells[cells[0]].params;
        // A duel is planned only where there can be turns.
        let turns = duels::turns(settings, with.workload, params).map_err(RunError::NoTurns)?;
        let turns = turn_plan(turns, params, settings, cells[0], round);
        let told = told(params, &turns);
        let arenas = [self.arena(run, round)?, self.arena(run, round)?];
        let side = |side: usize| spec(run, with, cells[side], round, &told, &arenas[side]);
        let spec = DuelSpec { sides: [side(0), side(1)], cells, turns };
        let display = &mut *self.display;
        let report =
            duel::run(&spec, [&arenas[0], &arenas[1]], self.cancel, &mut |_, p| display.trial(at, p));
        Ok(report.sides)
    }

    fn arena(&self, run: &Run, round: u32) -> Result<Arena, RunError> {
        let settings = &run.header.settings;
        let seed = plan::payload_seed(settings.seed, round);
        Ok(Arena::open(&ArenaSpec { seed, ..super::engine::arena_spec(settings) })?)
    }
}

fn spec<'a>(
    run: &Run,
    with: &Measuring<'a>,
    cell: usize,
    round: u32,
    params: &'a Params,
    arena: &Arena,
) -> TrialSpec<'a> {
    let settings = &run.header.settings;
    TrialSpec {
        workload: with.workload,
        params,
        seed: plan::payload_seed(settings.seed, round),
        roles: roles(with.workload, &run.cells[cell], settings, with.builds, with.plan, arena),
        marks: trial::steady_marks(params, settings.marks_hz),
        limits: TimeLimits::default().scaled(settings.time_limits),
        extra_setup: false,
    }
}

/// The turns of one session: as many as fill the window that was asked for.
fn turn_plan(spec: &TurnsSpec, params: &Params, settings: &Settings, cell: usize, round: u32) -> TurnPlan {
    let ms = |n: u32| Duration::from_millis(n.into());
    let window_ms = 1000.0 * params.number("seconds").unwrap_or(0.0);
    let count = (window_ms / f64::from(spec.turn_ms)).round().clamp(2.0, f64::from(TURNS_MAX)) as u32;
    let stretch = round.is_multiple_of(spec.stretch_every).then(|| ms(spec.stretch_ms));
    let seed = plan::session_seed(settings.seed, round, cell);
    TurnPlan { turn: ms(spec.turn_ms), lead: ms(spec.lead_ms), count, stretch, seed }
}

/// The parameters as a contender is told them: its window lasts over all the turns, also those in which it stands still.
fn told(params: &Params, turns: &TurnPlan) -> Params {
    let mut told = params.clone();
    let seconds = (2 * turns.length() + SPARE).as_secs_f64();
    told.0.insert("seconds".to_owned(), ParamValue::Number(seconds));
    told
}

/// Seconds of measuring before a resume. What a failing contender took does not count: it never runs again.
fn elapsed(run: &Run) -> f64 {
    // Both sides of a session have its whole length.
    let share = |t: &TrialRecord| if t.turns.is_some() { t.seconds / 2.0 } else { t.seconds };
    run.trials.iter().filter(|t| t.outcome == Outcome::Ok).map(share).sum()
}

/// How long the window of a trial lasts, or all the turns of a session.
fn window(run: &Run, workload: &Workload, step: Step) -> Duration {
    let settings = &run.header.settings;
    match step {
        Step::Trial(cell) => trial::seconds(&run.cells[cell].params, "seconds"),
        Step::Session { contender, .. } => {
            let params = &run.cells[contender].params;
            let turns = duels::turns(settings, workload, params);
            turns.map_or(Duration::ZERO, |turns| turn_plan(turns, params, settings, contender, 0).length())
        }
    }
}

fn label(run: &Run, workload: &Workload, step: Step) -> String {
    let labels: Vec<String> =
        step.cells().into_iter().map(|cell| run.cells[cell].label(&workload.roles)).collect();
    labels.join(" : ")
}

fn is_runnable(run: &Run, cell: usize) -> bool {
    matches!(run.cells[cell].status, CellStatus::Planned | CellStatus::Ok)
}

/// Whether there is something whose figures count: a bound alone bounds nothing, unless nothing else was asked for.
fn anything_runs(run: &Run) -> bool {
    let alive =
        |ceiling: bool| (0..run.cells.len()).any(|i| run.cells[i].ceiling == ceiling && is_runnable(run, i));
    alive(false) || run.cells.iter().all(|c| c.ceiling) && alive(true)
}

/// What is to be done in a round, in its order; nothing when all is settled.
fn steps(run: &Run, workload: &Workload, round: u32) -> Vec<Step> {
    if !anything_runs(run) {
        return Vec::new();
    }
    let settings = &run.header.settings;
    let contenders = run.cells.iter().filter(|c| !c.ceiling && c.status != CellStatus::Skipped).count();
    // A single contender has nothing to be decided against: its figures want all the rounds asked for.
    let may_stop = round >= settings.min_blocks && (contenders > 1 || settings.precision.is_some());
    let settled = if may_stop { verdicts::settled(run, workload) } else { BTreeSet::new() };
    let mut steps = Vec::new();
    for (_, members) in verdicts::groups(run) {
        let runnable: Vec<usize> = members.iter().copied().filter(|&i| is_runnable(run, i)).collect();
        let baseline = verdicts::baseline_among(run, &runnable);
        let by_duel = |&&i: &&usize| baseline.is_some_and(|b| i != b && duels::stands(run, workload, i, b));
        let duels: Vec<usize> = runnable.iter().filter(by_duel).copied().collect();
        steps.extend(
            duels
                .iter()
                .filter(|i| !settled.contains(*i))
                .filter_map(|&contender| Some(Step::Session { contender, baseline: baseline? })),
        );
        // What is left is compared by blocks, each with the baseline in it.
        let alone = duels.is_empty();
        let block: Vec<usize> = runnable
            .iter()
            .copied()
            .filter(|i| !duels.contains(i) && (alone || Some(*i) != baseline))
            .collect();
        if block.iter().any(|i| !settled.contains(i) || (alone && !may_stop)) {
            steps.extend(block.into_iter().chain(baseline.filter(|_| !alone)).map(Step::Trial));
        }
    }
    let order = plan::order(settings.seed, round, steps.len());
    order.into_iter().map(|i| steps[i]).collect()
}
