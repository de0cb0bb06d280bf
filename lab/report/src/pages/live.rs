//! A running run, followed through the store: progress, convergence of the intervals, pending cells, and
//! failures.
//!
//! Each refresh reads the trials added since the last one and judges them with the functions that decide when
//! to stop.

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::PageError;
use crate::plot::ratio_chart::{Dot, RatioChart, ratio_chart_svg};
use crate::table::{counted, status, verdict_class};
use netdyno_lab_analysis::report::{Cell, Report};
use netdyno_lab_analysis::verdicts::Judge;
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::{CellStatus, Run, RunStatus, Store};
use netdyno_lab_store::{Verdict, VerdictKind};

/// Rounds that are judged at most in one refresh.
const ROUNDS_AT_ONCE: u32 = 24;
/// Rounds that are kept. Beyond this, every other round is dropped.
const ROUNDS_MAX: usize = 64;

/// Ratios of the primary metric after a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Number of blocks or sessions so far.
    pub blocks: u32,
    /// Cell, ratio, and the ends of its interval, if bounded.
    pub ratios: Vec<(usize, f64, Option<f64>, Option<f64>)>,
}

/// A run that is followed.
#[derive(Debug)]
pub struct Following {
    run: Run,
    workload: Workload,
    last: i64,
    rounds: Vec<Round>,
    is_measured: bool,
}

impl Following {
    /// Starts with a run's head, without trials.
    ///
    /// # Errors
    /// If the manifest stored with the run cannot be read.
    pub fn new(run: Run) -> Result<Following, PageError> {
        let workload = run.header.parsed_workload()?;
        Ok(Following { run, workload, last: 0, rounds: Vec::new(), is_measured: true })
    }

    /// Name of the workload.
    #[must_use]
    pub fn workload(&self) -> &str {
        &self.run.header.workload
    }

    /// Whether the run has ended, or no process measures it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.run.status != RunStatus::Running || !self.is_measured
    }

    /// The rounds so far, in order.
    #[must_use]
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// Reads the trials added since the last call.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn refresh(&mut self, store: &Store) -> Result<(), PageError> {
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
            let ratios = ratios.map(|(cell, j)| (cell, j.ratio, bound(j.low), bound(j.high))).collect();
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
    ///
    /// # Errors
    /// If the report cannot be built or the state cannot be rendered.
    pub fn html(&self) -> Result<String, PageError> {
        super::rendered("state.html", context! { state => self.state()? })
    }

    /// Values of the template.
    pub(super) fn state(&self) -> Result<Value, PageError> {
        let report = netdyno_lab_analysis::report::build(&self.run)?;
        let settings = &self.run.header.settings;
        let primary = &report.run.primary;
        let of_primary: Vec<&Verdict> = report.verdicts.iter().filter(|v| v.metric == *primary).collect();
        let setting = |cell: &Cell| netdyno_lab_analysis::report::differing_params(&report, cell);
        let measured = report
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.trials > 0 && cell.status == CellStatus::Ok);
        let cells = measured.map(|(index, cell)| self.cell(&report, &of_primary, index, cell, setting(cell)));
        let failed = report.cells.iter().filter_map(|cell| {
            if !matches!(cell.status, CellStatus::Failed | CellStatus::Skipped) {
                return None;
            }
            let status = status(cell.status);
            let (label, reason) = (cell.label.as_str(), cell.reason.as_str());
            let (printed, remedy) = (cell.stderr.as_str(), cell.remedy.as_str());
            Some(context! { label, setting => setting(cell), status, reason, printed, remedy })
        });
        let waiting = report.cells.iter().filter(|c| c.status == CellStatus::Planned);
        let (block, unit) = (self.run.trials.last().map_or(0, |t| t.block + 1), unit(&of_primary));
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

    fn cell(
        &self,
        report: &Report,
        verdicts: &[&Verdict],
        index: usize,
        cell: &Cell,
        setting: String,
    ) -> Value {
        let primary = self.workload.primary();
        let verdict = verdicts.iter().find(|v| v.cell == index);
        let is_baseline =
            verdicts.iter().any(|v| v.baseline == cell.label && report.cells[v.cell].params == cell.params);
        let summary = match verdict {
            Some(v) => crate::sentence(v, primary.map_or("", |m| m.label.as_str()), report.run.margin),
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
        let ratio_in = |round: &Round| round.ratios.iter().find(|r| r.0 == cell).copied();
        let mut dots: Vec<Dot> = Vec::new();
        for (at, round) in self.rounds.iter().enumerate() {
            dots.extend(ratio_in(round).map(|(_, ratio, low, high)| Dot { at, ratio, low, high }));
        }
        let places = self.rounds.len() + 1;
        dots.extend(now.ratio.map(|ratio| Dot { at: places - 1, ratio, low: now.low, high: now.high }));
        let title = format!(
            "{} relative to {}, after {}",
            now.contender,
            now.baseline,
            counted(now.blocks as usize, &now.unit)
        );
        ratio_chart_svg(&RatioChart { title, places, dots, ..RatioChart::default() }).inline()
    }
}

fn unit<'a>(verdicts: &[&'a Verdict]) -> &'a str {
    verdicts.first().map_or("block", |v| v.unit.as_str())
}
