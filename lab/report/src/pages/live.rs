//! A running run, followed through the store: progress, convergence of the intervals, pending cells, and
//! failures.
//!
//! Each refresh reads the trials added since the last one and judges them with the functions that decide when
//! to stop.

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::PageError;
use crate::history::{Dot, Within};
use crate::plot::ratio_chart::{RatioChart, ratio_chart_svg};
use crate::table::{counted, sentence, status, verdict_class};
use netdyno_lab_analysis::report::{Cell, Report};
use netdyno_lab_analysis::verdicts::Judge;
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::{CellStatus, Run, RunStatus, Store, Verdict, VerdictKind};
use netdyno_stats::Judgement;

/// Rounds that are judged at most in one refresh.
const ROUNDS_AT_ONCE: u32 = 24;
/// Rounds that are kept. Beyond this, every other round is dropped.
const ROUNDS_MAX: usize = 64;

/// Ratios of the primary metric after a number of blocks or sessions.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) blocks: u32,
    /// By cell.
    pub(super) ratios: Vec<(usize, Within)>,
}

/// A run that is followed.
#[derive(Debug)]
pub(crate) struct Following {
    run: Run,
    workload: Workload,
    last: i64,
    pub(super) rounds: Vec<Round>,
    is_measured: bool,
}

impl Following {
    /// Starts with a run's head, without trials.
    pub(crate) fn new(run: Run) -> Result<Following, PageError> {
        let workload = run.header.parsed_workload()?;
        Ok(Following { run, workload, last: 0, rounds: Vec::new(), is_measured: true })
    }

    /// Whether the run has ended, or no process measures it.
    pub(crate) fn is_over(&self) -> bool {
        self.run.status != RunStatus::Running || !self.is_measured
    }

    /// Reads the trials added since the last call.
    pub(crate) fn refresh(&mut self, store: &Store) -> Result<(), PageError> {
        // Check this first: a process that ends in between has stored everything.
        self.is_measured = store.is_measured(&self.run.header.id);
        let head = store.load_head(&self.run.header.id)?;
        let trials = std::mem::take(&mut self.run.trials);
        self.run = Run { trials, ..head };
        self.last = store.load_more(&mut self.run, self.last)?;
        self.judge_rounds();
        Ok(())
    }

    /// Judges the run after each newly completed block.
    fn judge_rounds(&mut self) {
        let Some(primary) = self.workload.primary() else { return };
        let complete = self.run.trials.last().map_or(0, |t| t.block);
        let known = self.rounds.last().map_or(0, |r| r.blocks);
        let stride = (complete - known.min(complete)).div_ceil(ROUNDS_AT_ONCE).max(1);
        let mut blocks = known + stride;
        while blocks <= complete {
            let later = self.run.trials.split_off(self.run.trials.partition_point(|t| t.block < blocks));
            let verdicts = Judge::new(&self.run, &self.workload).verdicts(primary);
            self.run.trials.extend(later);
            let judged = verdicts.into_iter().flat_map(|v| v.judgements);
            let bound = |end: f64| (end > 0.0 && end.is_finite()).then_some(end);
            let ratios = judged.filter(|(_, j)| j.ratio.is_finite());
            let within = |j: Judgement| Within { ratio: j.ratio, low: bound(j.low), high: bound(j.high) };
            let ratios = ratios.map(|(cell, j)| (cell, within(j))).collect();
            self.rounds.push(Round { blocks, ratios });
            blocks += stride;
        }
        if self.rounds.len() > ROUNDS_MAX {
            let mut is_kept = self.rounds.len().is_multiple_of(2);
            self.rounds.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// Renders the current state as a part of a page.
    pub(crate) fn html(&self) -> Result<String, PageError> {
        super::rendered("state.html", context! { state => self.state()? })
    }

    /// Values of the template.
    pub(super) fn state(&self) -> Result<Value, PageError> {
        let report = netdyno_lab_analysis::report::build(&self.run)?;
        let settings = &self.run.header.settings;
        let primary = &report.run.primary;
        let of_primary: Vec<&Verdict> = report.verdicts.iter().filter(|v| v.metric == *primary).collect();
        let setting = |cell: &Cell| netdyno_lab_analysis::report::differing_params(&report, cell);
        let cells = report.cells.iter().enumerate();
        let measured = cells.filter(|(_, cell)| cell.trials > 0 && cell.status == CellStatus::Ok);
        let cells = measured.map(|(index, cell)| self.cell(&report, &of_primary, index, setting(cell)));
        let has_failed = |cell: &&Cell| matches!(cell.status, CellStatus::Failed | CellStatus::Skipped);
        let failed = report.cells.iter().filter(has_failed).map(|cell| {
            let status = status(cell.status);
            let (label, reason) = (cell.label.as_str(), cell.reason.as_str());
            let (printed, remedy) = (cell.stderr.as_str(), cell.remedy.as_str());
            context! { label, setting => setting(cell), status, reason, printed, remedy }
        });
        let waiting = report.cells.iter().filter(|c| c.status == CellStatus::Planned);
        let block = self.run.trials.last().map_or(0, |t| t.block + 1);
        let unit = of_primary.first().map_or("block", |v| v.unit.as_str());
        let decided = of_primary.iter().filter(|v| v.verdict != VerdictKind::Undecided).count();
        Ok(context! {
            headline => report.run.headline.as_str(),
            is_over => self.is_over(),
            begun => self.run.header.started_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            done_s => self.run.elapsed_s().round() as u64,
            budget_s => settings.budget_seconds.round() as u64,
            round => format!("{unit} {block} of at most {}", settings.max_blocks),
            decided,
            compared => of_primary.len(),
            cells => cells.collect::<Vec<_>>(),
            waiting => Serde(waiting.map(|c| &c.label).collect::<Vec<_>>()),
            failed => failed.collect::<Vec<_>>(),
            warnings => Serde(&report.warnings),
        })
    }

    fn cell(&self, report: &Report, verdicts: &[&Verdict], index: usize, setting: String) -> Value {
        let cell = &report.cells[index];
        let primary = self.workload.primary();
        let verdict = verdicts.iter().find(|v| v.cell == index);
        let is_baseline =
            verdicts.iter().any(|v| v.baseline == cell.label && report.cells[v.cell].params == cell.params);
        let summary = match verdict {
            Some(v) => sentence(v, primary.map_or("", |m| m.label.as_str()), report.run.margin),
            None if cell.ceiling => "ceiling, not ranked".to_owned(),
            None if is_baseline => "baseline of the comparison".to_owned(),
            None if cell.generator_limited => "not ranked: limited by its load generator".to_owned(),
            None => String::new(),
        };
        let prefix = format!("{}: ", cell.label);
        context! {
            summary => summary.strip_prefix(&prefix).unwrap_or(&summary),
            label => cell.label.as_str(),
            setting,
            value => primary.map_or(String::new(), |m| cell.value_text(&m.name)),
            trials => cell.trials,
            class => verdict_class(verdict.copied()),
            svg => Serde(verdict.map(|v| self.convergence(index, v))),
        }
    }

    /// Picture of a cell's interval after each block.
    fn convergence(&self, cell: usize, now: &Verdict) -> String {
        let of_cell = |round: &Round| round.ratios.iter().find(|(index, _)| *index == cell).copied();
        let rounds = self.rounds.iter().enumerate();
        let rounds = rounds.filter_map(|(at, round)| Some(Dot { at, within: of_cell(round)?.1 }));
        let last = now.ratio.map(|ratio| Dot {
            at: self.rounds.len(),
            within: Within { ratio, low: now.low, high: now.high },
        });
        let dots = rounds.chain(last).collect();
        let places = self.rounds.len() + 1;
        let count = counted(now.blocks as usize, &now.unit);
        let title = format!("{} relative to {}, after {count}", now.contender, now.baseline);
        ratio_chart_svg(&RatioChart { title, places, dots, ..RatioChart::default() }).inline()
    }
}
