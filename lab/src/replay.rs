//! What was printed of a run, held against what its figures come to now.
//!
//! Verdicts are kept when they are printed, and travel with an exported run. Computed again from the samples they must be the
//! same: by the same program to the last digit; by another one, or on another machine, within [`TOLERANCE`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::{Report, Verdict};

/// By how much figures may differ, relative: mathematical libraries differ in their last digits.
pub const TOLERANCE: f64 = 1e-9;

/// What was printed of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Printed {
    /// Version of the program that did.
    pub netdyno: String,
    /// Every verdict.
    pub verdicts: Vec<Verdict>,
}

impl Printed {
    /// What this program prints.
    #[must_use]
    pub fn of(report: &Report) -> Printed {
        Printed { netdyno: env!("CARGO_PKG_VERSION").to_owned(), verdicts: report.verdicts.clone() }
    }

    /// As it is stored.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("verdicts hold nothing that JSON cannot")
    }

    /// In what the report of a run is not what was printed, a line a verdict; empty: in nothing.
    #[must_use]
    pub fn differences(&self, report: &Report) -> Vec<String> {
        let of = |all: &[Verdict], one: &Verdict| all.iter().find(|v| is_of(v, one)).cloned();
        let told = |printed: &Verdict| match of(&report.verdicts, printed) {
            None => Some(format!("{}: printed {}, now none", name(printed), claim(printed))),
            Some(now) if !agrees(printed, &now) => {
                Some(format!("{}: printed {}, now {}", name(printed), claim(printed), claim(&now)))
            }
            Some(_) => None,
        };
        let new = report.verdicts.iter().filter(|now| of(&self.verdicts, now).is_none());
        let new = new.map(|now| format!("{}: printed none, now {}", name(now), claim(now)));
        self.verdicts.iter().filter_map(told).chain(new).collect()
    }
}

/// Whether two verdicts are of the same thing.
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

/// `better, 1.2 (1.1 - 1.3), 6 sessions`, with all digits: the difference may be in the last.
fn claim(v: &Verdict) -> String {
    let figure = |value: Option<f64>| value.map_or("none".to_owned(), |v| v.to_string());
    let verdict = format!("{:?}", v.verdict).to_lowercase();
    let (ratio, low, high) = (figure(v.ratio), figure(v.low), figure(v.high));
    format!("{verdict}, {ratio} ({low} - {high}), {} {}s", v.blocks, v.unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{self, VerdictKind};
    use crate::store::fixture::{Contender, run};
    use crate::store::{CellStatus, Run};

    fn made_up() -> Run {
        let contender = |name, rates| Contender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
        run(&[contender("base", &[1000, 1010, 990]), contender("rival", &[2000, 2010, 1990])], None)
    }

    #[test]
    fn what_is_not_as_printed_is_named() {
        let mut run = made_up();
        let report = report::build(&run).unwrap();
        let printed = Printed::of(&report);
        let stored: Printed = serde_json::from_str(&printed.to_json()).unwrap();
        assert_eq!(stored.differences(&report), [""; 0]);

        // A sample that was changed: no figure of its metric is what it was.
        let sample = run.trials[3]
            .samples
            .iter_mut()
            .find(|s| s.role == "sink" && s.name == "messages" && s.mark == 1)
            .unwrap();
        sample.value = sample.value.map(|v| v + 1);
        let differences = printed.differences(&report::build(&run).unwrap());
        assert!(
            differences.iter().any(|d| d.starts_with("throughput of rival against base: printed better")),
            "{differences:?}"
        );

        let mut claimed = printed.clone();
        claimed.verdicts[0].verdict = VerdictKind::Worse;
        assert_eq!(claimed.differences(&report).len(), 1);
        claimed.verdicts.clear();
        assert_eq!(claimed.differences(&report).len(), report.verdicts.len());
        let mut fewer = report.clone();
        fewer.verdicts.clear();
        assert!(printed.differences(&fewer)[0].ends_with("now none"));
        let mut last_digits = report.clone();
        last_digits.verdicts[0].ratio = report.verdicts[0].ratio.map(|r| r * (1.0 + 1e-12));
        assert_eq!(printed.differences(&last_digits), [""; 0]);
    }
}
