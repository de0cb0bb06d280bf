//! Printed verdicts, compared with recomputed ones.
//!
//! Verdicts are stored when they are printed, and are part of an exported run. The same program recomputes them
//! exactly; another version or machine within [`TOLERANCE`].

use serde::{Deserialize, Serialize};

pub use netdyno_stats::VerdictKind;

/// Tolerated relative difference of figures, since mathematical libraries differ in the last digits.
pub const TOLERANCE: f64 = 1e-9;

/// The printed verdicts of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Printed {
    /// Version of the program that printed them.
    pub netdyno: String,
    /// The verdicts.
    pub verdicts: Vec<Verdict>,
}

/// The verdict on a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The metric.
    pub metric: String,
    /// Label of the contender.
    pub contender: String,
    /// Label of the baseline.
    pub baseline: String,
    /// Index of the contender's cell.
    pub cell: usize,
    /// Geometric mean of the ratios of blocks or sessions; null if there is none.
    pub ratio: Option<f64>,
    /// Lower end of the confidence sequence; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
    /// The unit of observation: `block` or `session`.
    #[serde(default = "block")]
    pub unit: String,
    /// Number of observations.
    pub blocks: u32,
    /// p-value after Holm's correction.
    pub p_adjusted: f64,
    /// The verdict.
    pub verdict: VerdictKind,
    /// For an undecided verdict, the estimated number of further observations; null if unknown.
    pub needs_blocks: Option<u32>,
}

/// The unit of reports of older versions.
fn block() -> String {
    "block".to_owned()
}

impl Printed {
    /// The verdicts that this program prints.
    pub fn of(verdicts: &[Verdict]) -> Printed {
        Printed { netdyno: env!("CARGO_PKG_VERSION").to_owned(), verdicts: verdicts.to_vec() }
    }

    /// The stored form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("verdicts hold nothing that JSON cannot")
    }

    /// The differences from recomputed verdicts, one line each.
    pub fn differences(&self, verdicts: &[Verdict]) -> Vec<String> {
        let of = |all: &[Verdict], one: &Verdict| all.iter().find(|v| is_of(v, one)).cloned();
        let changed = |printed: &Verdict| match of(verdicts, printed) {
            None => Some(format!("{}: printed {}, now none", name(printed), claim(printed))),
            Some(now) if !agrees(printed, &now) => {
                Some(format!("{}: printed {}, now {}", name(printed), claim(printed), claim(&now)))
            }
            Some(_) => None,
        };
        let new = verdicts.iter().filter(|now| of(&self.verdicts, now).is_none());
        let new = new.map(|now| format!("{}: printed none, now {}", name(now), claim(now)));
        self.verdicts.iter().filter_map(changed).chain(new).collect()
    }
}

/// Whether two verdicts concern the same comparison.
fn is_of(a: &Verdict, b: &Verdict) -> bool {
    (a.cell, &a.metric, &a.contender, &a.baseline) == (b.cell, &b.metric, &b.contender, &b.baseline)
}

fn agrees(a: &Verdict, b: &Verdict) -> bool {
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()),
        (a, b) => a == b,
    };
    (a.verdict, a.blocks, &a.unit, a.needs_blocks) == (b.verdict, b.blocks, &b.unit, b.needs_blocks)
        && near(a.ratio, b.ratio)
        && near(a.low, b.low)
        && near(a.high, b.high)
        && near(Some(a.p_adjusted), Some(b.p_adjusted))
}

fn name(v: &Verdict) -> String {
    format!("{} of {} against {}", v.metric, v.contender, v.baseline)
}

/// `better, 1.2 (1.1 - 1.3), 6 sessions`, with all digits, since only the last may differ.
fn claim(v: &Verdict) -> String {
    let figure = |value: Option<f64>| value.map_or("none".to_owned(), |v| v.to_string());
    let verdict = v.verdict.word();
    let (ratio, low, high) = (figure(v.ratio), figure(v.low), figure(v.high));
    format!("{verdict}, {ratio} ({low} - {high}), {} {}s", v.blocks, v.unit)
}
