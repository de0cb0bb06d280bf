//! Ratio of the two sides of a claim, from a stored run.
//!
//! Finds the cell of each side, pairs what was measured at the same time (sessions of a duel, else blocks), and computes the
//! ratio with an anytime-valid interval. There is no correction for the number of claims, so that intervals begin with the
//! third session, as with the third block. An early start costs most at the small levels of multiple comparisons.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::duels::{self, Duels};
use crate::verdicts::{baseline_among, groups};
use crate::{generator, load, metrics};
use netdyno_lab_manifest::{Metric, Workload};
use netdyno_lab_store::{CellRecord, CellStatus, Run, Side};
use netdyno_stats::{Interval, Unit, confidence_sequence};

/// Prefix of metrics that count lines of code.
pub const CODE: &str = "code.";

/// Unit whose minimum count of observations applies to the intervals of claims, for blocks and sessions.
pub(super) const FROM: Unit = Unit::Block;

/// A ratio and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// First side / second side.
    pub ratio: f64,
    /// Lower end of the interval; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
    /// Value of the first side.
    pub a: Option<f64>,
    /// Value of the second side.
    pub b: Option<f64>,
    /// Unit of the values.
    pub unit: String,
    /// `12 sessions`, `3 blocks`, `counted`.
    pub of: String,
    /// Remarks: a load that was not sustained, a generator that was the bottleneck.
    pub notes: Vec<String>,
}

/// The ratio of two sides of a run, and its log ratios. Counted lines have no log ratios.
pub(super) fn measured(
    run: &Run,
    workload: &Workload,
    metric: &str,
    a: &Side,
    b: &Side,
) -> Result<(Measured, Vec<f64>), String> {
    let cell_a = cell_of(run, a)?;
    let cell_b = if b.figure.is_some() { None } else { Some(cell_of(run, b)?) };
    if let Some(part) = metric.strip_prefix(CODE) {
        let lines = |cell: usize, side: &Side| lines_of(&run.cells[cell], side, part);
        let first = lines(cell_a, a)?;
        let second = cell_b.map_or(Ok(b.figure.unwrap_or(f64::NAN)), |cell| lines(cell, b))?;
        let measured = Measured {
            ratio: first / second,
            low: Some(first / second),
            high: Some(first / second),
            a: Some(first),
            b: Some(second),
            unit: "lines".to_owned(),
            of: "counted".to_owned(),
            notes: Vec::new(),
        };
        return Ok((measured, Vec::new()));
    }
    let metric = workload.metric(metric).map_err(|e| e.to_string())?;
    let duels = Duels::new(run, workload);
    let pair = Pair { run, duels: &duels, metric };
    let (logs, unit) = pair.logs(cell_a, cell_b.ok_or(b.figure.unwrap_or(f64::NAN)))?;
    let interval =
        interval(&logs, run.header.settings.alpha).map_err(|why| format!("{}: {why}", metric.label))?;
    let pool = |cell: usize| metrics::Pool::new(&duels.counted(cell));
    let value = |cell: usize| pool(cell).figure(metric, &run.cells[cell].params).value;
    let (ratio, low, high) = interval.ratios();
    let count = u32::try_from(logs.len()).unwrap_or(u32::MAX);
    let both = [Some((cell_a, a)), cell_b.map(|cell| (cell, b))];
    let notes =
        both.into_iter().flatten().filter_map(|(cell, side)| limit(workload, run, &duels, cell, side));
    let measured = Measured {
        ratio,
        low,
        high,
        a: value(cell_a),
        b: cell_b.map_or(b.figure, value),
        unit: metric.unit.clone(),
        of: format!("{count} {}", unit.noun(count)),
        notes: notes.collect(),
    };
    Ok((measured, logs))
}

/// The cell of a side, if it was measured.
fn cell_of(run: &Run, side: &Side) -> Result<usize, String> {
    let index =
        run.cell_of(side).ok_or_else(|| format!("{} is not in run {}", side.label(), run.header.id))?;
    let cell = &run.cells[index];
    let first_line = || cell.reason.lines().next().unwrap_or_default().to_owned();
    match cell.status {
        CellStatus::Ok => Ok(index),
        CellStatus::Planned => Err(format!("{} was not measured before the run ended", side.label())),
        CellStatus::Failed => Err(format!("{} failed: {}", side.label(), first_line())),
        CellStatus::Skipped => Err(format!("{} cannot run here: {}", side.label(), first_line())),
    }
}

/// Why the values of a cell do not represent its contender: it did not sustain its load, or the generator was the
/// bottleneck.
fn limit(workload: &Workload, run: &Run, duels: &Duels<'_>, cell: usize, side: &Side) -> Option<String> {
    let trials = duels.counted(cell);
    let load = load::of_cell(workload, &run.cells[cell].params, &trials);
    if load.as_ref().is_some_and(load::Load::is_missed) {
        return Some(format!("{} did not sustain the offered load", side.label()));
    }
    generator::limit(workload, load.as_ref(), &trials).map(|why| format!("{}: {why}", side.label()))
}

fn lines_of(cell: &CellRecord, side: &Side, part: &str) -> Result<f64, String> {
    let name = side.contender.as_ref().or_else(|| side.roles.values().next());
    let build = name.and_then(|name| cell.builds.get(name));
    let lines = &build.ok_or_else(|| format!("{}: no build is recorded", side.label()))?.lines;
    let counted = lines.parts().into_iter().find(|(name, _)| *name == part).map(|(_, count)| count);
    let counted = counted.ok_or_else(|| format!("unknown kind of lines of code: \"{part}\""))?;
    let why = || format!("{}: lines not counted: {}", side.label(), counted.source);
    counted.lines.filter(|lines| *lines > 0).map(|lines| lines as f64).ok_or_else(why)
}

/// A metric of two cells of a run.
pub(super) struct Pair<'a> {
    pub(super) run: &'a Run,
    pub(super) duels: &'a Duels<'a>,
    pub(super) metric: &'a Metric,
}

impl Pair<'_> {
    /// Log ratios of a cell to another one, or to a figure: from their duels, or from the duels of each with the baseline; else
    /// from blocks. The error says why the two cannot be compared.
    pub(super) fn logs(&self, a: usize, b: Result<usize, f64>) -> Result<(Vec<f64>, Unit), String> {
        let values = |cell: usize| duels::values(self.run, self.metric, cell, self.duels.counted(cell));
        let in_turns = |cell: usize| self.duels.counted(cell).iter().any(|t| t.turns.is_some());
        let b = match b {
            Ok(b) => b,
            // A figure cannot be paired: the ratio includes the machine's drift.
            Err(figure) => {
                let unit = if in_turns(a) { Unit::Session } else { Unit::Block };
                return Ok((values(a).into_values().map(|value| (value / figure).ln()).collect(), unit));
            }
        };
        if !(in_turns(a) || in_turns(b)) {
            return Ok((duels::log_ratios(&values(a), &values(b)).into_values().collect(), Unit::Block));
        }
        let cells = &self.run.cells;
        let group = groups(self.run).into_iter().find(|(_, members)| members.contains(&a));
        let baseline = group.and_then(|(_, members)| baseline_among(self.run, &members));
        let Some(baseline) = baseline.filter(|_| cells[a].params == cells[b].params) else {
            return Err(
                "duels compare cells with equal parameters only: add --blocks to the method".to_owned()
            );
        };
        let to_baseline = |cell: usize| -> BTreeMap<u32, f64> {
            let sessions = self.duels.by_session(self.metric, cell, baseline).unwrap_or_default();
            sessions.into_iter().map(|((round, _), log)| (round, log)).collect()
        };
        let logs = match (a == baseline, b == baseline) {
            (_, true) => to_baseline(a).into_values().collect(),
            (true, false) => to_baseline(b).into_values().map(|log| -log).collect(),
            // In a common session, the baseline cancels. In two sessions of one round, each has its own baseline.
            (false, false) => {
                let base = to_baseline(b);
                to_baseline(a).into_iter().filter_map(|(round, log)| Some(log - base.get(&round)?)).collect()
            }
        };
        Ok((logs, Unit::Session))
    }
}

/// Confidence interval of a claim's log ratios; unbounded for a single value.
pub(super) fn interval(logs: &[f64], alpha: f64) -> Result<Interval, &'static str> {
    match logs {
        [] => Err("no block or session has values of both sides"),
        _ if logs.iter().any(|log| !log.is_finite()) => Err("a value is 0, which has no ratio"),
        [single] => Ok(Interval::unbounded(*single)),
        _ => confidence_sequence(logs, FROM, alpha).ok_or("no interval"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_manifest::ParamValue;
    use netdyno_lab_store::fixture::{self, CannedContender};

    fn named(name: &str) -> Side {
        Side { contender: Some(name.to_owned()), ..Side::default() }
    }

    fn run(rates: &[(&'static str, CellStatus, &'static [u64])]) -> Run {
        let one = |(name, status, rates): &(&'static str, CellStatus, &'static [u64])| CannedContender {
            name,
            status: *status,
            rates,
            sink_cpu_percent: 50,
        };
        fixture::run(&rates.iter().map(one).collect::<Vec<_>>(), None)
    }

    fn check(run: &Run, a: &Side, b: &Side) -> Result<Measured, String> {
        let workload = netdyno_lab_manifest::dummy::workload();
        let metric = workload.primary().unwrap().name.clone();
        measured(run, &workload, &metric, a, b).map(|(measured, _)| measured)
    }

    #[test]
    fn sides_are_paired_by_block() {
        // The machine halves its speed from block to block. Neither side is the baseline.
        let run = run(&[
            ("base", CellStatus::Ok, &[1, 1, 1]),
            ("one", CellStatus::Ok, &[8000, 4000, 2000]),
            ("two", CellStatus::Ok, &[4000, 2000, 1000]),
        ]);
        let ratio = check(&run, &named("one"), &named("two")).unwrap();
        assert!((ratio.ratio - 2.0).abs() < 1e-9, "{ratio:?}");
        assert!(ratio.low.unwrap() > 1.9 && ratio.high.unwrap() < 2.1, "{ratio:?}");
        assert_eq!((ratio.of.as_str(), ratio.a, ratio.b), ("3 blocks", Some(4000.0), Some(2000.0)));
        let turned = check(&run, &named("two"), &named("one")).unwrap();
        assert!((turned.ratio * ratio.ratio - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_side_can_be_a_figure() {
        let run = run(&[("one", CellStatus::Ok, &[2000, 2100, 1900])]);
        let figure = Side { figure: Some(1000.0), ..Side::default() };
        let ratio = check(&run, &named("one"), &figure).unwrap();
        assert!(ratio.low.unwrap() > 1.0 && ratio.ratio < 2.1 && ratio.b == Some(1000.0), "{ratio:?}");
    }

    #[test]
    fn a_missing_ratio_has_a_reason() {
        let run = run(&[
            ("one", CellStatus::Ok, &[2000; 3]),
            ("ill", CellStatus::Failed, &[1]),
            ("absent", CellStatus::Skipped, &[]),
            ("idle", CellStatus::Ok, &[0; 3]),
        ]);
        let at = |value| Side {
            at: [("rate".to_owned(), ParamValue::Integer(value))].into_iter().collect(),
            ..named("one")
        };
        for (side, part) in [
            (named("ill"), "ill failed: the sink"),
            (named("absent"), "absent cannot run here"),
            (named("nobody"), "nobody is not in run"),
            (named("idle"), "no block or session has values of both"),
            (at(7), "one at rate=7 is not in run"),
        ] {
            let error = check(&run, &named("one"), &side).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn two_values_have_no_bounds() {
        let run = run(&[("one", CellStatus::Ok, &[2000; 2]), ("two", CellStatus::Ok, &[1000; 2])]);
        let ratio = check(&run, &named("one"), &named("two")).unwrap();
        assert_eq!((ratio.low, ratio.high), (None, None));
    }

    #[test]
    fn sides_across_parameters_share_a_block() {
        let mut run = run(&[("one", CellStatus::Ok, &[2000; 3]), ("one", CellStatus::Ok, &[1000; 3])]);
        let rate = |value| ParamValue::Integer(value);
        for (cell, value) in [(0, 1), (1, 2)] {
            run.cells[cell].params.0.insert("rate".to_owned(), rate(value));
        }
        let side =
            |value| Side { at: [("rate".to_owned(), rate(value))].into_iter().collect(), ..named("one") };
        assert!((check(&run, &side(1), &side(2)).unwrap().ratio - 2.0).abs() < 1e-9);
    }
}
