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
pub use netdyno_lab_store::{Limit, Tolerance};
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
    fn absolute(
        metric: &Metric,
        (to, from): (&Cell, &Cell),
        (name, other): (&str, &str),
        limit: f64,
    ) -> Claimed {
        let (Some(after), Some(before)) = (to.value(&metric.name), from.value(&metric.name)) else {
            let reason = "the metric was not measured on both sides";
            return Claimed::missing(&metric.label, (name, other), reason);
        };
        let loss = match direction(metric) {
            Direction::Higher => before - after,
            Direction::Lower => after - before,
        };
        let claim = if loss > limit { RegressionClaim::Regression } else { RegressionClaim::NoRegression };
        let text = |value: f64| crate::report::value(value, &metric.unit);
        let sentence = format!(
            "{} of {name} is {}, that of {other} is {}: {} (tolerance {})",
            metric.label,
            text(after),
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

    /// A metric that one of the compared workloads does not have.
    fn without_metric(tolerance: &Tolerance, (to, from): (&str, &str)) -> Claimed {
        let name = tolerance.metric.as_deref().unwrap_or("the primary metric");
        Claimed::missing(name, (to, from), "the workload of one side does not have this metric")
    }

    /// The claim that follows from the state of two cells, if one of them has no values that can be compared.
    fn by_state(
        metric: &Metric,
        (to, from): (&Cell, &Cell),
        (name, other): (&str, &str),
        reference: Reference,
    ) -> Option<Claimed> {
        let missing = |reason: &str| Some(Claimed::missing(&metric.label, (name, other), reason));
        let claimed = |claim, reason: &str| {
            let sentence = format!("{} of {name}: {reason}: {}", metric.label, word(claim));
            Some(Claimed { claim, is_missing: false, sentence })
        };
        match (obstacle(from), obstacle(to)) {
            (None, None) => None,
            (Some(before), Some(after)) => missing(&format!("{other}: {before}; {name}: {after}")),
            (None, Some(Obstacle { reason, is_evidence: true })) if reference != Reference::Elsewhere => {
                claimed(RegressionClaim::Regression, &format!("{reason}, unlike {other}"))
            }
            // After a failure, the exit code is that of a failed cell.
            (Some(Obstacle { reason, is_evidence: true }), None)
                if reference == Reference::Earlier && from.status != CellStatus::Failed =>
            {
                claimed(RegressionClaim::NoRegression, &format!("{other}: {reason}"))
            }
            (None, Some(reason)) => missing(&format!("{name}: {reason}")),
            (Some(reason), None) => missing(&format!("{other}: {reason}")),
        }
    }

    /// Tests one metric of two cells. `ratio` is to / from with its interval.
    fn new(
        metric: &Metric,
        (to, from): (&Cell, &Cell),
        ratio: (Option<f64>, Option<f64>, Option<f64>),
        (limit, reference): (Limit, Reference),
    ) -> Claimed {
        let names = (to.label.as_str(), from.label.as_str());
        Claimed::by_state(metric, (to, from), names, reference)
            .unwrap_or_else(|| Claimed::by_values(metric, (to, from), names, ratio, (limit, true)))
    }

    /// The claim that follows from the values of two cells. A ratio is undecided unless `is_comparable`.
    fn by_values(
        metric: &Metric,
        cells: (&Cell, &Cell),
        names: (&str, &str),
        ratio: (Option<f64>, Option<f64>, Option<f64>),
        (limit, is_comparable): (Limit, bool),
    ) -> Claimed {
        match limit {
            Limit::Relative(share) => Claimed::relative(metric, names, ratio, (share, is_comparable)),
            Limit::Absolute(most) => Claimed::absolute(metric, cells, names, most),
        }
    }
}

/// The reference of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reference {
    /// An earlier state of itself: if only that cannot run, the change is a fix.
    Earlier,
    /// An earlier run on another host, whose states prove nothing.
    Elsewhere,
    /// Another contender, which has to be measured.
    Baseline,
}

fn word(claim: RegressionClaim) -> &'static str {
    match claim {
        RegressionClaim::Regression => "regression",
        RegressionClaim::NoRegression => "no regression",
        RegressionClaim::Undecided => "undecided",
    }
}

/// Why a cell has no values that can be compared.
#[derive(Debug)]
struct Obstacle {
    reason: String,
    /// Whether the contender causes it. A generator that is the bottleneck, for example, proves nothing about the contender.
    is_evidence: bool,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

fn obstacle(cell: &Cell) -> Option<Obstacle> {
    let first = cell.reason.lines().next().unwrap_or_default();
    let (reason, is_evidence) = match cell.status {
        CellStatus::Failed => (format!("failed: {first}"), true),
        CellStatus::Skipped => (format!("cannot run: {first}"), true),
        CellStatus::Ok if cell.load.is_some_and(|load| load.is_missed()) => {
            ("the offered load was not sustained".to_owned(), true)
        }
        CellStatus::Ok if cell.generator_limited => {
            ("the load generator is the bottleneck".to_owned(), false)
        }
        CellStatus::Planned | CellStatus::Ok if cell.trials == 0 => ("not measured".to_owned(), false),
        CellStatus::Planned | CellStatus::Ok => return None,
    };
    Some(Obstacle { reason, is_evidence })
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
