//! The measured part of a run: rounds of sessions and trials, until everything is decided.
//!
//! In each round, every undecided duel has a session, possibly together with others, and contenders compared by
//! blocks have a block, in an order that depends on the seed. Everything is stored before the next step.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Position;
use super::cells::{is_alive, note_outcome, roles, wrong_version};
use super::engine::{Engine, Result, RunError};
use super::neighbours::Neighbours;
use crate::build::{Built, Prepared};
use crate::plan;
use crate::trial::duel::{self, TurnPlan};
use crate::trial::{self, TrialReport, TrialSpec};
use netdyno_lab_analysis::duels::{self, Duels, Pace};
use netdyno_lab_analysis::{claims, verdicts};
use netdyno_lab_arena::{Arena, ArenaSpec, CpuPlan};
use netdyno_lab_manifest::{ParamValue, TurnsSpec, Workload};
use netdyno_lab_protocol::limits::TimeLimits;
use netdyno_lab_store::{CellRecord, CellStatus, Outcome, Run, StopReason};

/// Addition to the window length that contenders receive in sessions, which end by `stop`.
const SPARE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Trial(usize),
    /// A session of duels between these cells; the last one is the baseline of the others.
    Session(Vec<usize>, Pace),
}

impl Step {
    fn cells(&self) -> &[usize] {
        match self {
            Step::Trial(cell) => std::slice::from_ref(cell),
            Step::Session(cells, _) => cells,
        }
    }
}

pub(super) struct Measuring<'a> {
    pub(super) workload: &'a Workload,
    pub(super) plan: &'a CpuPlan,
    pub(super) builds: &'a BTreeMap<String, Built>,
    /// The inputs of each cell; empty for cells that cannot run.
    pub(super) inputs: &'a [Prepared],
    pub(super) rounds: Range<u32>,
    /// Budget of measuring time, in seconds.
    pub(super) budget_s: f64,
    /// The budget may end any round; otherwise only sessions of later rounds are omitted.
    pub(super) ends_halfway: bool,
}

impl Engine<'_> {
    /// Measures, and warns about other programs that used the machine. Returns why it stopped.
    pub(super) fn measure(&mut self, run: &mut Run, with: &Measuring<'_>) -> Result<StopReason> {
        let neighbours = Neighbours::begin(&run.header.id);
        self.warn(run, &neighbours.warnings)?;
        let why = self.rounds(run, with);
        self.warn(run, &neighbours.end())?;
        why
    }

    /// Measures round by round. Returns why it stopped.
    fn rounds(&mut self, run: &mut Run, with: &Measuring<'_>) -> Result<StopReason> {
        if let Some(spare) = &with.plan.lab {
            // Leave the roles' cores. If that fails, the lab's own cost is small anyway.
            let pinned = netdyno_lab_arena::pin_self(spare);
            tracing::debug!(?spare, ok = pinned.is_ok(), "the lab keeps to spare cores");
        }
        let mut elapsed_s = run.elapsed_s();
        for round in with.rounds.clone() {
            // Repeated until no step is left: a cell that fails in a session ends the session of the others.
            loop {
                let Some(steps) = steps(run, with, round) else {
                    let is_decided = anything_runs(run);
                    return Ok(if is_decided { StopReason::Decided } else { StopReason::NothingLeft });
                };
                if steps.is_empty() {
                    break;
                }
                for (index, step) in steps.iter().enumerate() {
                    if !step.cells().iter().all(|&cell| is_runnable(run, with, cell)) {
                        continue;
                    }
                    let in_duels = matches!(step, Step::Session(..));
                    let may_end = with.ends_halfway || in_duels && round > with.rounds.start;
                    if may_end && elapsed_s >= with.budget_s {
                        return Ok(StopReason::Budget);
                    }
                    let labels: Vec<String> = step
                        .cells()
                        .iter()
                        .map(|&cell| run.cells[cell].label(&with.workload.roles))
                        .collect();
                    let window = session_turns(run, with.workload, step, (round, 0)).map_or_else(
                        || trial::seconds(&run.cells[step.cells()[0]].params, "seconds"),
                        |turns| turns.length(step.cells().len()),
                    );
                    let at = Position {
                        label: &labels.join(" : "),
                        in_duels,
                        block: round - with.rounds.start,
                        max_blocks: with.rounds.end - with.rounds.start,
                        trial: index,
                        trials: steps.len(),
                        window,
                        elapsed_s,
                        budget_s: with.budget_s,
                    };
                    let begun = Instant::now();
                    self.step(run, with, step, round, &at)?;
                    if step.cells().iter().all(|&cell| run.cells[cell].status == CellStatus::Ok) {
                        elapsed_s += begun.elapsed().as_secs_f64();
                    }
                }
            }
            if elapsed_s >= with.budget_s {
                return Ok(StopReason::Budget);
            }
        }
        Ok(StopReason::BlockLimit)
    }

    /// Executes and stores one step.
    fn step(
        &mut self,
        run: &mut Run,
        with: &Measuring<'_>,
        step: &Step,
        round: u32,
        at: &Position<'_>,
    ) -> Result<()> {
        let place = free_place(run, round);
        let reports = self.reports(run, with, step, (round, place), at)?;
        let interrupted = |r: &TrialReport| r.record.outcome == Outcome::Interrupted;
        if reports.iter().any(|(_, r)| interrupted(r)) || self.cancel.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        for (cell, mut report) in reports {
            report.record.cell = cell;
            report.record.block = round;
            report.record.position = place;
            if let Some(reason) = wrong_version(&run.cells[cell], &report.implementations) {
                report.record.outcome = trial::failed("", reason);
            }
            note_outcome(&mut run.cells[cell], &report.record.outcome, report.implementations);
            if let Outcome::Failed { .. } = &report.record.outcome {
                self.display.failed(&run.cells[cell].label(&with.workload.roles), &run.cells[cell].reason);
            }
            self.store.add_trial(&run.header.id, &report.record)?;
            self.store.update_cell(&run.header.id, cell, &run.cells[cell])?;
            run.trials.push(report.record);
        }
        Ok(())
    }

    /// Runs the trial of each of the step's cells. If one side ended a session, the others have no report.
    fn reports(
        &mut self,
        run: &Run,
        with: &Measuring<'_>,
        step: &Step,
        (round, place): (u32, u32),
        at: &Position<'_>,
    ) -> Result<Vec<(usize, TrialReport)>> {
        let cells = step.cells();
        let settings = &run.header.settings;
        let turns = session_turns(run, with.workload, step, (round, place));
        let mut params = run.cells[cells[0]].params.clone();
        if let Some(turns) = &turns {
            // The window of contenders includes the time in which they are frozen.
            let seconds = (2 * turns.length(cells.len()) + SPARE).as_secs_f64();
            params.0.insert("seconds".to_owned(), ParamValue::Number(seconds));
        }
        let arenas = cells.iter().map(|_| self.arena(run, round)).collect::<Result<Vec<_>, _>>()?;
        let spec = |(&cell, arena): (&usize, &Arena)| TrialSpec {
            workload: with.workload,
            params: &params,
            inputs: with.inputs[cell].clone(),
            seed: plan::payload_seed(settings.seed, round),
            roles: roles(with.workload, &run.cells[cell], settings, with.builds, with.plan, arena),
            marks: trial::steady_marks(&params, settings.marks_hz),
            limits: TimeLimits::default().scaled(settings.time_limits),
            extra_setup: false,
        };
        let specs: Vec<TrialSpec<'_>> = cells.iter().zip(&arenas).map(spec).collect();
        let mut progress = |p| self.display.trial(at, p);
        let reports = match &turns {
            None => vec![Some(trial::run(&specs[0], &arenas[0], self.cancel, &mut progress, None))],
            Some(turns) => duel::run(&specs, turns, &arenas, self.cancel, &mut |_, p| progress(p)),
        };
        Ok(cells.iter().zip(reports).filter_map(|(&cell, report)| Some((cell, report?))).collect())
    }

    fn arena(&self, run: &Run, round: u32) -> Result<Arena> {
        let settings = &run.header.settings;
        let seed = plan::payload_seed(settings.seed, round);
        Ok(Arena::open(&ArenaSpec { seed, ..super::engine::arena_spec(settings) })?)
    }
}

/// The turns of a step, if it is a session.
fn session_turns(run: &Run, workload: &Workload, step: &Step, at: (u32, u32)) -> Option<TurnPlan> {
    let Step::Session(cells, pace) = step else { return None };
    let turns = duels::turns(&run.header.settings, workload, &run.cells[cells[0]].params);
    let turns = turns.expect("a session is planned only where turns are possible");
    Some(turn_plan(run, workload, turns, (cells, *pace), at))
}

/// The turns of a session: as many as fit into the requested window, up to the workload's limit. A cell in several
/// sessions of a round, such as the baseline, has its stretch in the first. A cell whose disturbance is in doubt has
/// one in every round.
fn turn_plan(
    run: &Run,
    workload: &Workload,
    spec: &TurnsSpec,
    (cells, pace): (&[usize], Pace),
    (round, place): (u32, u32),
) -> TurnPlan {
    let ms = |n: u32| Duration::from_millis(n.into());
    let turn_ms = match pace {
        Pace::Short => spec.turn_ms,
        Pace::Long => spec.stretch_ms,
    };
    let window_ms = 1000.0 * run.cells[cells[0]].params.number("seconds").unwrap_or(0.0);
    let count = (window_ms / f64::from(turn_ms)).round().clamp(2.0, f64::from(spec.turns_max)) as u32;
    let has_stretch = round.is_multiple_of(spec.stretch_every);
    let had_one = |cell: usize| {
        let mut here = run.trials.iter().filter(|t| t.block == round && t.cell == cell);
        here.any(|t| t.outcome == Outcome::Ok && t.turns.as_ref().is_some_and(|turns| turns.stretch))
    };
    let wants_one = |cell: usize| (has_stretch || is_in_doubt(run, workload, cell)) && !had_one(cell);
    let undisturbed =
        (0..cells.len()).filter(|&side| pace == Pace::Short && wants_one(cells[side])).collect();
    let seed = plan::session_seed(run.header.settings.seed, round, place);
    let (turn, lead, stretch) = (ms(turn_ms), ms(spec.lead_ms), ms(spec.stretch_ms));
    let under_way = spec.under_way(&run.cells[cells[0]].params);
    let losses = cells.iter().map(|&cell| run.cells[cell].stalled);
    let is_stalled = losses.clone().any(|loss| loss > 0);
    let stalled = losses.filter(|_| is_stalled).map(|loss| turn * loss / 1000).collect();
    TurnPlan { turn, lead, count, stalled, undisturbed, stretch, under_way, seed }
}

/// Whether turns appear to disturb this cell, without being decided yet.
fn is_in_doubt(run: &Run, workload: &Workload, cell: usize) -> bool {
    duels::disturbance(run, workload, cell).is_some_and(|d| d.is_in_doubt())
}

/// The first unused position of a round; it identifies the session.
fn free_place(run: &Run, round: u32) -> u32 {
    let taken = run.trials.iter().filter(|t| t.block == round).map(|t| t.position + 1);
    taken.max().unwrap_or(0)
}

/// Whether the cell has not failed and is built.
fn is_runnable(run: &Run, with: &Measuring<'_>, cell: usize) -> bool {
    let cell = &run.cells[cell];
    is_alive(cell) && cell.contenders.values().all(|name| with.builds.contains_key(name))
}

/// Whether any cell can produce a ranked figure: a ceiling alone cannot, unless the run has nothing else.
fn anything_runs(run: &Run) -> bool {
    let alive = |ceiling: bool| run.cells.iter().any(|c| c.ceiling == ceiling && is_alive(c));
    alive(false) || run.cells.iter().all(|c| c.ceiling) && alive(true)
}

/// The remaining steps of a round, in order; none if everything is decided.
fn steps(run: &Run, with: &Measuring<'_>, round: u32) -> Option<Vec<Step>> {
    if !anything_runs(run) {
        return None;
    }
    let workload = with.workload;
    let settings = &run.header.settings;
    let may_stop = round >= settings.min_blocks;
    let is_asked = !settings.questions.is_empty();
    let mut settled = if may_stop { verdicts::settled(run, workload) } else { BTreeSet::new() };
    settled.retain(|&cell| !is_in_doubt(run, workload, cell));
    if settings.precision.is_none() {
        let lone = lone(run);
        settled.retain(|cell| !lone.contains(cell));
    }
    if is_asked {
        let wanted = claims::wanted(run, workload);
        settled = (0..run.cells.len()).filter(|cell| !wanted.contains(cell)).collect();
    }
    let duels = Duels::new(run, workload);
    let is_done = |cell: usize, pace: Option<Pace>| {
        let mut here = run.trials.iter().filter(|t| t.block == round && t.cell == cell);
        here.any(|t| duels.pace_of(t) == pace && t.outcome == Outcome::Ok)
    };
    let (mut steps, mut all_settled) = (Vec::new(), true);
    for (params, members) in verdicts::groups(run) {
        let runnable: Vec<usize> = members.into_iter().filter(|&i| is_runnable(run, with, i)).collect();
        let baseline = verdicts::baseline_among(run, &runnable);
        let pace = |i: usize| duels.pace(i, baseline?);
        let (in_duels, in_blocks): (Vec<usize>, Vec<usize>) =
            runnable.into_iter().partition(|&i| pace(i).is_some());
        // Each block includes the baseline; a block without a rival is useful only if the baseline has no duels
        // either.
        let wanted = in_duels.is_empty() || in_blocks.iter().any(|i| Some(*i) != baseline);
        if wanted && in_blocks.iter().any(|i| !settled.contains(i)) {
            all_settled = false;
            // Questions name every cell they compare; other cells are compared with the baseline.
            let takes_part = |i: &usize| !(is_done(*i, None) || is_asked && settled.contains(i));
            steps.extend(in_blocks.into_iter().filter(takes_part).map(Step::Trial));
        }
        let open: Vec<usize> = in_duels.into_iter().filter(|i| !settled.contains(i)).collect();
        all_settled &= open.is_empty();
        let (Some(baseline), Ok(turns)) = (baseline, duels::turns(settings, workload, &params)) else {
            continue;
        };
        for (length, together) in [(Pace::Short, turns.together as usize), (Pace::Long, 2)] {
            let now = |i: &usize| pace(*i) == Some(length) && !is_done(*i, Some(length));
            let rivals: Vec<usize> = open.iter().copied().filter(now).collect();
            let order = plan::order(settings.seed, round, rivals.len());
            let rivals: Vec<usize> = order.into_iter().map(|i| rivals[i]).collect();
            steps.extend(
                sessions(&rivals, together)
                    .map(|rivals| Step::Session([rivals, &[baseline]].concat(), length)),
            );
        }
    }
    let order = plan::order(settings.seed, round, steps.len());
    (!all_settled).then(|| order.into_iter().map(|i| steps[i].clone()).collect())
}

/// The cells without a rival at their parameters. No verdict can decide them, so they are measured for all requested
/// rounds.
fn lone(run: &Run) -> BTreeSet<usize> {
    let is_rival = |cell: &CellRecord| !cell.ceiling && is_alive(cell);
    let has_no_rival =
        |members: &Vec<usize>| members.iter().filter(|i| is_rival(&run.cells[**i])).count() < 2;
    verdicts::groups(run).into_iter().map(|(_, members)| members).filter(has_no_rival).flatten().collect()
}

/// Divides the rivals into the smallest number of sessions, of about equal size.
fn sessions(rivals: &[usize], together: usize) -> impl Iterator<Item = &[usize]> {
    let sessions = rivals.len().div_ceil(together - 1);
    // Bresenham's line: of ten in four sessions 2, 3, 2, 3.
    (0..sessions).map(move |i| &rivals[i * rivals.len() / sessions..(i + 1) * rivals.len() / sessions])
}

#[cfg(test)]
mod tests;
