//! One thing held against an earlier state of it: two revisions that were duelled in one run, or two stored runs.
//!
//! | does | does not |
//! |---|---|
//! | show each metric of both, their ratio with its interval, and what may be said | hold a figure of one run against a figure of another: hosts and days differ |
//! | compare two runs by what each has to a contender, or a bound, that is in both | compare what was measured with other parameters: that is refused |
//! | say whether it is a regression, for `--fail-on` | claim one where two runs had other hosts or other builds of the one between |

mod across;
mod within;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use across::{Refused, across};
pub use within::{claims, unchanged, within};

use crate::verdicts::direction;
use netdyno_lab_manifest::Metric;
use netdyno_lab_store::VerdictKind;
use netdyno_stats::{RegressionClaim, Loss};

/// Version of the schema of [`Comparison`]. Fields are added within a version, never changed.
pub const SCHEMA_VERSION: u32 = 1;

/// One thing held against an earlier state of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of this schema.
    pub schema_version: u32,
    /// The workload.
    pub workload: String,
    /// What was measured, in one line.
    pub headline: String,
    /// What it is held against.
    pub from: ComparisonSide,
    /// What is judged.
    pub to: ComparisonSide,
    /// What changed, the primary metric first.
    pub rows: Vec<ComparisonRow>,
    /// The regression that is put up with, relative, where one was named.
    pub limit: Option<f64>,
    /// What is claimed of the primary metric, where a limit was named: of all rows the worst.
    pub claim: Option<RegressionClaim>,
    /// The claim in words, a line for each contender and set of parameters.
    pub claims: Vec<String>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Side")]
pub struct ComparisonSide {
    /// The contender at a revision, or a run's id.
    pub label: String,
    /// The run that measured it; empty where nothing had to be measured.
    pub run: String,
    /// The state of the repository, in words; empty where it is not known.
    pub state: String,
    /// When the run began: RFC 3339.
    pub started_at: String,
    /// The machine, in one line.
    pub host: String,
}

/// One metric of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Row")]
pub struct ComparisonRow {
    /// The contender.
    pub contender: String,
    /// Its parameters.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Which contender and parameters, in words, where the rows are of several.
    pub of: String,
    /// The metric's name.
    pub metric: String,
    /// Its name for people.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// Verdicts of the run, and the claim, are of this one.
    pub primary: bool,
    /// It stands in a short table.
    pub headline: bool,
    /// The figure before; null: not measured.
    pub from: Option<f64>,
    /// The figure now; null: not measured.
    pub to: Option<f64>,
    /// Now by before; null: not compared.
    pub ratio: Option<f64>,
    /// Lower end of its interval; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
    /// What lies between the two: nothing in a duel, else the contender or bound that both runs have.
    pub by: String,
    /// What may be said; null: not compared.
    pub verdict: Option<VerdictKind>,
}

impl ComparisonRow {
    /// Whether a reader learns something: of a metric that was not asked for there is nothing, but for the one that is claimed of.
    fn says_something(&self) -> bool {
        self.primary || self.from.is_some() || self.to.is_some()
    }
}

/// The JSON Schema of a comparison.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Comparison)
}

/// What is claimed of a contender's primary metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// Label of the metric.
    pub metric: String,
    /// What is judged.
    pub to: String,
    /// What it is held against.
    pub from: String,
    /// How much worse it is.
    pub loss: Loss,
    /// The claim.
    pub claim: RegressionClaim,
}

impl Claimed {
    /// Of a ratio, to by from, and its ends; none where they are not known.
    fn new(
        metric: &Metric,
        (to, from): (&str, &str),
        (ratio, low, high): (Option<f64>, Option<f64>, Option<f64>),
        limit: f64,
    ) -> Claimed {
        let ends = (ratio.unwrap_or(f64::NAN), low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
        let loss = Loss::new(ends, direction(metric));
        Claimed {
            metric: metric.label.clone(),
            to: to.to_owned(),
            from: from.to_owned(),
            loss,
            claim: loss.claim(limit),
        }
    }

    /// `throughput of a is 5.1 % worse than that of b (4.2 % worse to 6.0 % worse): a regression, at most 3.0 % are put up with`.
    #[must_use]
    pub fn sentence(&self, limit: f64) -> String {
        let Claimed { metric, to, from, loss, claim } = self;
        let claim = match claim {
            RegressionClaim::Regression => "a regression",
            RegressionClaim::NoRegression => "no regression",
            RegressionClaim::Undecided => "undecided",
        };
        if !loss.estimate.is_finite() {
            return format!("{metric} of {to} was not compared with that of {from}: {claim}");
        }
        let worse = |share: f64| {
            format!("{:.1} % {}", 100.0 * share.abs(), if share < 0.0 { "better" } else { "worse" })
        };
        let interval = match loss.low > -1.0 && loss.high.is_finite() {
            true => format!("{} to {}", worse(loss.low), worse(loss.high)),
            false => "too little for an interval".to_owned(),
        };
        let (estimate, limit) = (worse(loss.estimate), 100.0 * limit);
        format!(
            "{metric} of {to} is {estimate} than that of {from} ({interval}): {claim}, at most {limit:.1} % are put up with"
        )
    }
}

/// What several claims come to.
#[must_use]
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

    fn claimed(estimate: f64, low: f64, high: f64) -> Claimed {
        let loss = Loss { estimate, low, high };
        let name = |name: &str| name.to_owned();
        Claimed { metric: name("rate"), to: name("b"), from: name("a"), loss, claim: loss.claim(0.03) }
    }

    #[test]
    fn a_claim_is_a_sentence_and_of_several_the_worst_counts() {
        let (slower, same) = (claimed(0.051, 0.042, 0.06), claimed(-0.001, -0.02, 0.018));
        let unknown = claimed(f64::NAN, -1.0, f64::INFINITY);
        for (claimed, part) in [
            (
                &slower,
                "is 5.1 % worse than that of a (4.2 % worse to 6.0 % worse): a regression, at most 3.0 %",
            ),
            (&same, "is 0.1 % better than that of a (2.0 % better to 1.8 % worse): no regression"),
            (&claimed(0.01, -1.0, f64::INFINITY), "(too little for an interval): undecided"),
            (&unknown, "rate of b was not compared with that of a: undecided"),
        ] {
            let sentence = claimed.sentence(0.03);
            assert!(sentence.contains(part), "{sentence}");
        }
        assert_eq!(worst(&[same.clone(), unknown.clone(), slower]), RegressionClaim::Regression);
        assert_eq!(worst(&[same.clone(), unknown]), RegressionClaim::Undecided);
        assert_eq!(worst(&[same]), RegressionClaim::NoRegression);
        assert_eq!(worst(&[]), RegressionClaim::Undecided);
    }
}
