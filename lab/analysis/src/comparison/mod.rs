//! Comparison of two states: two revisions of a contender in one run, or two stored runs.
//!
//! | does | does not |
//! |---|---|
//! | show each metric of both states with their ratio, its interval and a verdict | compare absolute values of different runs: hosts and times differ |
//! | compare two runs by ratios to a contender or ceiling that both contain | compare different parameters: that is an error |
//! | report regressions for `--fail-on` | report one if two runs differ in host or in the build of the common contender |

mod across;
mod within;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use across::{Refused, across};
pub use within::{Unmeasured, claims, not_built, unchanged, within};

use crate::report::{Cell, Report};
use crate::verdicts::direction;
use netdyno_lab_manifest::{Better, Metric, Source};
use netdyno_lab_store::{CellStatus, VerdictKind};
use netdyno_stats::{Direction, Loss, RegressionClaim};

/// Version of the schema of [`Comparison`]. Fields are added within a version, never changed.
pub const SCHEMA_VERSION: u32 = 1;

/// Comparison of two states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Version of this schema.
    pub schema_version: u32,
    /// The workload.
    pub workload: String,
    /// Summary of the run in one line.
    pub headline: String,
    /// The reference.
    pub from: ComparisonSide,
    /// The state that is judged.
    pub to: ComparisonSide,
    /// Changes, the primary metric first.
    pub rows: Vec<ComparisonRow>,
    /// Tolerated relative regression, if given.
    pub limit: Option<f64>,
    /// The worst claim of all metrics with a limit.
    pub claim: Option<RegressionClaim>,
    /// The claims as sentences, one per metric with a limit, contender and parameter setting.
    pub claims: Vec<String>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Changes for the worse in metrics that no limit covers.
    #[serde(default)]
    pub unchecked: Vec<String>,
    /// Whether a limit could not be tested because values are missing.
    #[serde(default)]
    pub is_missing: bool,
}

impl Comparison {
    /// Adds the claims of the tolerances, and the changes that none of them covers.
    fn with_claims(self, claimed: Vec<Claimed>, metrics: &[Metric], tolerances: &[Tolerance]) -> Comparison {
        let is_tested = !tolerances.is_empty();
        Comparison {
            schema_version: SCHEMA_VERSION,
            limit: primary_limit(tolerances),
            claim: is_tested.then(|| worst(&claimed)),
            is_missing: is_tested && (claimed.is_empty() || claimed.iter().any(|c| c.is_missing)),
            claims: claimed.into_iter().map(|c| c.sentence).collect(),
            unchecked: unchecked(&self.rows, metrics, tolerances),
            ..self
        }
    }
}

/// One of the two states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Side"))]
pub struct ComparisonSide {
    /// The contender at a revision, or the id of a run.
    pub label: String,
    /// The run that measured it; empty if nothing was measured.
    pub run: String,
    /// State of the repository; empty if unknown.
    pub state: String,
    /// Start of the run: RFC 3339.
    pub started_at: String,
    /// The machine, in one line.
    pub host: String,
}

impl ComparisonSide {
    fn new(report: &Report, label: &str, state: String) -> ComparisonSide {
        ComparisonSide {
            label: label.to_owned(),
            run: report.run.id.clone(),
            state,
            started_at: report.run.started_at.clone(),
            host: report.host.headline(),
        }
    }
}

/// One metric of one contender.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Row"))]
pub struct ComparisonRow {
    /// The contender.
    pub contender: String,
    /// Its parameters.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Contender and parameters as text, if rows differ in them.
    pub of: String,
    /// Name of the metric.
    pub metric: String,
    /// Display name of the metric.
    pub label: String,
    /// Unit of the metric.
    pub unit: String,
    /// Whether it is the primary metric, to which verdicts and the claim refer.
    pub primary: bool,
    /// Whether it is part of a short table.
    pub headline: bool,
    /// Value before; null: not measured.
    pub from: Option<f64>,
    /// Value after; null: not measured.
    pub to: Option<f64>,
    /// After / before; null: not compared.
    pub ratio: Option<f64>,
    /// Lower end of its interval; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
    /// Contender or ceiling that links two runs; empty in a duel.
    pub by: String,
    /// The verdict; null: not compared.
    pub verdict: Option<VerdictKind>,
}

impl ComparisonRow {
    /// The values of a metric in two cells, not yet compared.
    fn new(metric: &Metric, before: Option<&Cell>, after: &Cell) -> ComparisonRow {
        ComparisonRow {
            contender: after.label.clone(),
            params: after.params.clone(),
            metric: metric.name.clone(),
            label: metric.label.clone(),
            unit: metric.unit.clone(),
            primary: metric.primary,
            headline: metric.primary || metric.headline,
            from: before.and_then(|cell| cell.value(&metric.name)),
            to: after.value(&metric.name),
            ..ComparisonRow::default()
        }
    }

    /// Whether the row has content. The primary metric is always shown.
    fn has_content(&self) -> bool {
        self.primary || self.from.is_some() || self.to.is_some()
    }
}

fn primary_first<'a>(metrics: impl IntoIterator<Item = &'a Metric>) -> Vec<&'a Metric> {
    let (primary, others): (Vec<&Metric>, Vec<&Metric>) = metrics.into_iter().partition(|m| m.primary);
    primary.into_iter().chain(others).collect()
}

/// The JSON Schema of a comparison.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Comparison)
}

/// A condition of `--fail-on`: the tolerated loss in a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerance {
    /// The metric; `None` for the primary one.
    pub metric: Option<String>,
    /// The limit.
    pub limit: Limit,
}

/// A tolerated loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Relative loss, tested with the confidence interval: 0.03 is 3 %.
    Relative(f64),
    /// Absolute change for the worse, compared as it was measured: for counts.
    Absolute(f64),
}

impl Tolerance {
    /// Whether it applies to a metric.
    pub fn applies_to(&self, metric: &Metric) -> bool {
        self.metric.as_ref().map_or(metric.primary, |name| *name == metric.name)
    }
}

/// The relative limit of the primary metric, if any.
pub fn primary_limit(tolerances: &[Tolerance]) -> Option<f64> {
    tolerances.iter().find_map(|t| match t {
        Tolerance { metric: None, limit: Limit::Relative(share) } => Some(*share),
        _ => None,
    })
}

/// Claim about a metric of a contender.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The claim.
    pub claim: RegressionClaim,
    /// Whether the values that the claim needs were not measured.
    pub is_missing: bool,
    /// The claim as a sentence.
    pub sentence: String,
}

impl Claimed {
    /// From a ratio, to / from, and its ends, if known. Undecided unless `is_comparable`.
    fn relative(
        metric: &Metric,
        (to, from): (&str, &str),
        (ratio, low, high): (Option<f64>, Option<f64>, Option<f64>),
        (limit, is_comparable): (f64, bool),
    ) -> Claimed {
        let ends = (ratio.unwrap_or(f64::NAN), low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
        let loss = Loss::new(ends, direction(metric));
        let claim = if is_comparable { loss.claim(limit) } else { RegressionClaim::Undecided };
        if !loss.estimate.is_finite() {
            let reason = "no session or block has values of both";
            return Claimed::missing(&metric.label, (to, from), reason);
        }
        let worse = |share: f64| {
            format!("{:.1} % {}", 100.0 * share.abs(), if share < 0.0 { "better" } else { "worse" })
        };
        let interval = match loss.low > -1.0 && loss.high.is_finite() {
            true => format!("{} to {}", worse(loss.low), worse(loss.high)),
            false => "no interval yet".to_owned(),
        };
        let sentence = format!(
            "{} of {to} is {} than that of {from} ({interval}): {} (limit {:.1} %)",
            metric.label,
            worse(loss.estimate),
            word(claim),
            100.0 * limit
        );
        Claimed { claim, is_missing: false, sentence }
    }

    /// From the values of two cells.
    fn absolute(metric: &Metric, (to, from): (&Cell, &Cell), limit: f64) -> Claimed {
        let (Some(after), Some(before)) = (to.value(&metric.name), from.value(&metric.name)) else {
            let reason = "the metric was not measured on both sides";
            return Claimed::missing(&metric.label, (&to.label, &from.label), reason);
        };
        let loss = match direction(metric) {
            Direction::Higher => before - after,
            Direction::Lower => after - before,
        };
        let claim = if loss > limit { RegressionClaim::Regression } else { RegressionClaim::NoRegression };
        let text = |value: f64| crate::report::value(value, &metric.unit);
        let sentence = format!(
            "{} of {} is {}, that of {} is {}: {} (tolerance {})",
            metric.label,
            to.label,
            text(after),
            from.label,
            text(before),
            word(claim),
            text(limit)
        );
        Claimed { claim, is_missing: false, sentence }
    }

    /// Without values.
    fn missing(metric: &str, (to, from): (&str, &str), reason: &str) -> Claimed {
        let sentence = format!("{metric} of {to} could not be compared with that of {from}: {reason}");
        Claimed { claim: RegressionClaim::Undecided, is_missing: true, sentence }
    }

    /// Tests one metric of two cells. `ratio` is to / from with its interval.
    pub(super) fn new(
        metric: &Metric,
        (to, from): (&Cell, &Cell),
        ratio: (Option<f64>, Option<f64>, Option<f64>),
        limit: Limit,
    ) -> Claimed {
        let names = (to.label.as_str(), from.label.as_str());
        let by_state = |claim, reason: &str| {
            let sentence = format!("{} of {}: {reason}: {}", metric.label, to.label, word(claim));
            Claimed { claim, is_missing: false, sentence }
        };
        match (obstacle(from), obstacle(to)) {
            (None, None) => match limit {
                Limit::Relative(share) => Claimed::relative(metric, names, ratio, (share, true)),
                Limit::Absolute(most) => Claimed::absolute(metric, (to, from), most),
            },
            // A generator that is the bottleneck proves nothing about the contender.
            (Some(_), _) | (_, Some(_)) if to.generator_limited || from.generator_limited => {
                Claimed::missing(&metric.label, names, "the load generator is the bottleneck")
            }
            (None, Some(reason)) => {
                by_state(RegressionClaim::Regression, &format!("{reason}, unlike {}", from.label))
            }
            (Some(reason), None) => {
                by_state(RegressionClaim::NoRegression, &format!("{}: {reason}", from.label))
            }
            (Some(before), Some(after)) => {
                let reason = format!("{}: {before}; {}: {after}", from.label, to.label);
                Claimed::missing(&metric.label, names, &reason)
            }
        }
    }
}

fn word(claim: RegressionClaim) -> &'static str {
    match claim {
        RegressionClaim::Regression => "regression",
        RegressionClaim::NoRegression => "no regression",
        RegressionClaim::Undecided => "undecided",
    }
}

/// Why a cell has no values that can be compared.
fn obstacle(cell: &Cell) -> Option<String> {
    let reason = || cell.reason.lines().next().unwrap_or_default();
    match cell.status {
        CellStatus::Failed => Some(format!("failed: {}", reason())),
        CellStatus::Skipped => Some(format!("cannot run: {}", reason())),
        CellStatus::Ok if cell.load.is_some_and(|load| load.is_missed()) => {
            Some("the offered load was not sustained".to_owned())
        }
        CellStatus::Ok if cell.generator_limited => Some("the load generator is the bottleneck".to_owned()),
        CellStatus::Planned | CellStatus::Ok if cell.trials == 0 => Some("not measured".to_owned()),
        CellStatus::Planned | CellStatus::Ok => None,
    }
}

/// Changes for the worse in metrics without a tolerance.
fn unchecked(rows: &[ComparisonRow], metrics: &[Metric], tolerances: &[Tolerance]) -> Vec<String> {
    let line = |row: &ComparisonRow| {
        let metric = metrics.iter().find(|m| m.name == row.metric)?;
        let is_count = matches!(metric.from, Source::Count { .. });
        let increased = is_count && metric.better == Better::Lower && row.to > row.from;
        if tolerances.iter().any(|t| t.applies_to(metric))
            || !(increased || row.verdict == Some(VerdictKind::Worse))
        {
            return None;
        }
        let [from, to] = [row.from, row.to].map(|v| crate::report::format::value_or_not(v, &row.unit));
        let of = if row.of.is_empty() { String::new() } else { format!(" ({})", row.of) };
        Some(format!("{}{of} {from} -> {to}", row.label))
    };
    rows.iter().filter_map(line).collect()
}

/// The claim that summarises several claims.
pub fn worst(claims: &[Claimed]) -> RegressionClaim {
    let all = |wanted: RegressionClaim| claims.iter().all(|c| c.claim == wanted);
    match claims.iter().any(|c| c.claim == RegressionClaim::Regression) {
        true => RegressionClaim::Regression,
        false if all(RegressionClaim::NoRegression) && !claims.is_empty() => RegressionClaim::NoRegression,
        false => RegressionClaim::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(ratio: f64, low: f64, high: f64) -> Claimed {
        let metric = netdyno_lab_manifest::dummy::workload().primary().unwrap().clone();
        let ends = [ratio, low, high].map(|v| Some(v).filter(|v| v.is_finite() && *v > 0.0));
        Claimed::relative(&metric, ("b", "a"), (ends[0], ends[1], ends[2]), (0.03, true))
    }

    #[test]
    fn claims_are_sentences_and_the_worst_one_counts() {
        let (slower, same) =
            (claimed(1.0 / 1.051, 1.0 / 1.06, 1.0 / 1.042), claimed(1.001, 1.0 / 1.018, 1.02));
        let unknown = claimed(f64::NAN, 0.0, f64::INFINITY);
        for (claimed, part) in [
            (&slower, "is 5.1 % worse than that of a (4.2 % worse to 6.0 % worse): regression (limit 3.0 %)"),
            (&same, "is 0.1 % better than that of a (2.0 % better to 1.8 % worse): no regression"),
            (&claimed(0.99, 0.0, f64::INFINITY), "(no interval yet): undecided"),
            (&unknown, "could not be compared with that of a"),
        ] {
            assert!(claimed.sentence.contains(part), "{}", claimed.sentence);
        }
        assert!(unknown.is_missing && !slower.is_missing);
        assert_eq!(worst(&[same.clone(), unknown.clone(), slower]), RegressionClaim::Regression);
        assert_eq!(worst(&[same.clone(), unknown]), RegressionClaim::Undecided);
        assert_eq!(worst(&[same]), RegressionClaim::NoRegression);
        assert_eq!(worst(&[]), RegressionClaim::Undecided);
    }
}
