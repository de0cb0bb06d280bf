//! The smallest slowdown that this machine detects in a given time, by injecting known slowdowns.
//!
//! Each duel is an ordinary run of a contender with itself, in which the second copy is frozen for a known share of
//! each turn. Both copies are frozen once per turn, so that the cost of freezing cancels. The first duel, without
//! slowdown, is a control. The others find the smallest detected slowdown by bisection. The method requires a rate as
//! primary metric, since freezing affects no other.

use serde_json::json;

use super::against_itself::{Duel, Terms, resolved};
use netdyno_lab_engine::run::{Resolved, RunError};
use netdyno_lab_manifest::{Catalog, ManifestError, Metric, Source, Workload};

/// The injected slowdowns, in thousandths; three duels find the smallest detected one.
pub(crate) const LOSSES: [u32; 7] = [5, 10, 20, 30, 50, 100, 200];
/// More sessions than fit into any budget.
const SESSIONS_MAX: u32 = 100_000;

/// The metric that shows a slowdown. The error lists workloads that have one.
pub(crate) fn metric_of<'a>(catalog: &Catalog, workload: &'a Workload) -> Result<&'a Metric, ManifestError> {
    fn rate(workload: &Workload) -> Option<&Metric> {
        let is_rate = |m: &&Metric| matches!(m.from, Source::Rate { .. });
        workload.primary().filter(is_rate).filter(|_| workload.turns.is_some())
    }
    rate(workload).ok_or_else(|| {
        let able: Vec<&str> =
            catalog.workloads.values().filter(|w| rate(w).is_some()).map(|w| w.name.as_str()).collect();
        let other = if workload.detect.is_some() { "; doctor --self-test puts delays into this one" } else { "" };
        let able = if able.is_empty() { "none here".to_owned() } else { able.join(", ") };
        let name = &workload.name;
        let rule = format!(
            "{name} has no rate that is measured in turns and that an injected delay reduces; workloads with one: {able}{other}"
        );
        ManifestError::Value { name: "resolve".to_owned(), rule }
    })
}

/// A duel of a contender with a copy of itself that is slowed down by so many thousandths.
pub(crate) fn plan(
    catalog: &Catalog,
    workload: &Workload,
    contender: &str,
    loss: u32,
    budget_s: f64,
) -> Result<Resolved, RunError> {
    let terms = Terms { stalled: loss, sessions: SESSIONS_MAX, budget_s };
    let mut resolved = resolved(catalog, workload, contender, terms)?;
    // The budget is for a single comparison, not for a sweep.
    let first = resolved.cells[0].params.clone();
    resolved.cells.retain(|cell| cell.params == first);
    Ok(resolved)
}

#[derive(Debug, Clone)]
pub(crate) struct InjectedLoss {
    /// In thousandths; 0 in the control.
    pub(crate) loss: u32,
    pub(crate) run: String,
    /// None if a side failed.
    pub(crate) duel: Option<Duel>,
    pub(crate) warnings: Vec<String>,
}

impl InjectedLoss {
    pub(crate) fn expected(&self) -> f64 {
        1.0 - f64::from(self.loss) / 1000.0
    }

    pub(crate) fn is_detected(&self) -> bool {
        self.duel.is_some_and(|duel| !duel.holds(1.0))
    }

    /// Whether the interval contains the injected slowdown.
    pub(crate) fn is_true(&self) -> bool {
        self.duel.is_some_and(|duel| duel.holds(self.expected()))
    }
}

/// The next slowdown to test, if any: first none (the control), then the middle of the candidates for the smallest
/// detected one.
pub(crate) fn next(found: &[InjectedLoss]) -> Option<u32> {
    if found.is_empty() {
        return Some(0);
    }
    if found.iter().any(|f| f.duel.is_none()) {
        return None;
    }
    let (from, to) = open(found);
    LOSSES[from..to].get((to - from) / 2).copied()
}

/// The candidates: above the greatest slowdown that was missed, below the smallest that was detected.
fn open(found: &[InjectedLoss]) -> (usize, usize) {
    let place = |f: &InjectedLoss| LOSSES.iter().position(|loss| *loss == f.loss);
    let is_told = |f: &&InjectedLoss| f.is_detected() && f.is_true();
    let to = found.iter().filter(is_told).filter_map(place).min().unwrap_or(LOSSES.len());
    let missed = found.iter().filter(|f| !is_told(f)).filter_map(place);
    (missed.map(|at| at + 1).max().unwrap_or(0), to)
}

#[derive(Debug, Clone)]
pub(crate) struct Resolution {
    pub(crate) workload: String,
    /// Label of the metric.
    pub(crate) metric: String,
    pub(crate) contender: String,
    /// Budget of each duel, in seconds.
    pub(crate) budget_s: f64,
    pub(crate) found: Vec<InjectedLoss>,
}

impl Resolution {
    /// The smallest detected slowdown, in thousandths; none if there is none, or it is not known yet.
    pub(crate) fn least(&self) -> Option<u32> {
        let (from, to) = open(&self.found);
        LOSSES.get(to).copied().filter(|_| from == to && !self.is_unlike_itself())
    }

    /// Whether the control detected a difference.
    pub(crate) fn is_unlike_itself(&self) -> bool {
        self.found.iter().any(|f| f.loss == 0 && f.is_detected())
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.found.iter().any(|f| f.duel.is_none())
    }

    /// The JSON form: slowdowns as shares, and null instead of infinity.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let share = |thousandths: u32| f64::from(thousandths) / 1000.0;
        let duel = |f: &InjectedLoss| {
            let finite = |value: fn(Duel) -> f64| f.duel.map(value).filter(|v| v.is_finite() && *v > 0.0);
            json!({
                "loss": share(f.loss), "expected": f.expected(),
                "ratio": finite(|d| d.ratio), "low": finite(|d| d.low), "high": finite(|d| d.high),
                "sessions": f.duel.map_or(0, |d| d.sessions),
                "detected": f.is_detected(), "holds_expected": f.is_true(),
                "run": f.run, "warnings": f.warnings,
            })
        };
        json!({
            "workload": self.workload, "metric": self.metric, "contender": self.contender,
            "budget_s": self.budget_s, "least_loss": self.least().map(share), "answer": self.answer(),
            "duels": self.found.iter().map(duel).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn answer(&self) -> String {
        let Resolution { workload, metric, contender, budget_s, .. } = self;
        let (from, to) = open(&self.found);
        let what = format!("of {metric} of {workload}, with {contender},");
        if self.has_failed() {
            return "No answer: a duel failed.".to_owned();
        }
        if self.is_unlike_itself() {
            return format!("No answer: {contender} differed from itself without any loss.");
        }
        if from < to {
            return "No answer yet: it was interrupted.".to_owned();
        }
        let (detects, loss, but) = match (LOSSES.get(to), to.checked_sub(1).map(|below| LOSSES[below])) {
            (Some(least), Some(below)) => ("detects", *least, format!("but not one of {}", percent(below))),
            (Some(least), None) => ("detects", *least, "the smallest that was tried".to_owned()),
            (None, _) => {
                ("does not detect", LOSSES[LOSSES.len() - 1], "the largest that was tried".to_owned())
            }
        };
        format!("In {budget_s} s this host {detects} a loss of {} {what} {but}.", percent(loss))
    }
}

/// `0.5 %`.
pub(crate) fn percent(thousandths: u32) -> String {
    format!("{} %", f64::from(thousandths) / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_stats::{Judgement, Unit, VerdictKind};

    /// A duel with this interval.
    fn found(loss: u32, (low, high): (f64, f64)) -> InjectedLoss {
        let judgement = Judgement {
            ratio: f64::midpoint(low, high),
            low,
            high,
            unit: Unit::Session,
            blocks: 9,
            p_adjusted: 1.0,
            verdict: VerdictKind::Undecided,
            needs_blocks: None,
        };
        let duel = Some(Duel::new(&judgement, &[0.0; 9]));
        InjectedLoss { loss, run: "r".to_owned(), duel, warnings: Vec::new() }
    }

    fn resolution(found: Vec<InjectedLoss>) -> Resolution {
        let [workload, metric, contender] = ["w", "rate", "c"].map(str::to_owned);
        Resolution { workload, metric, contender, budget_s: 60.0, found }
    }

    /// The resolution of a machine with intervals of this width, which measures slowdowns multiplied by `factor`.
    fn searched(half_width: f64, factor: f64) -> Resolution {
        let mut all = Vec::new();
        while let Some(loss) = next(&all) {
            assert!(all.len() < 4, "a control and three duels");
            let ratio = 1.0 - factor * f64::from(loss) / 1000.0;
            all.push(found(loss, (ratio - half_width, ratio + half_width)));
        }
        resolution(all)
    }

    #[test]
    fn the_least_loss_is_found_in_three_duels() {
        for (half_width, tried, least, says) in [
            (
                0.001,
                &[0, 30, 10, 5][..],
                Some(5),
                "detects a loss of 0.5 % of rate of w, with c, the smallest that was tried",
            ),
            (
                0.007,
                &[0, 30, 10, 5],
                Some(10),
                "detects a loss of 1 % of rate of w, with c, but not one of 0.5 %",
            ),
            (0.025, &[0, 30, 10, 20], Some(30), "a loss of 3 % of rate of w, with c, but not one of 2 %"),
            (0.04, &[0, 30, 100, 50], Some(50), "a loss of 5 % of rate of w, with c, but not one of 3 %"),
            (
                0.3,
                &[0, 30, 100, 200],
                None,
                "does not detect a loss of 20 % of rate of w, with c, the largest that was tried",
            ),
        ] {
            let found = searched(half_width, 1.0);
            assert_eq!(found.found.iter().map(|f| f.loss).collect::<Vec<_>>(), tried, "{half_width}");
            assert_eq!(found.least(), least);
            assert!(
                found.answer().starts_with("In 60 s this host ") && found.answer().contains(says),
                "{}",
                found.answer()
            );
        }
    }

    #[test]
    fn a_loss_that_is_found_with_another_size_is_not_told() {
        let found = searched(0.004, 2.0);
        assert!(found.found[1..].iter().all(|f| f.is_detected() && !f.is_true()), "{found:?}");
        assert_eq!(found.least(), None);
    }

    #[test]
    fn a_detected_control_a_failure_and_an_interruption_give_no_answer() {
        let unlike = resolution(vec![found(0, (0.9, 0.99)), found(5, (0.99, 0.999))]);
        assert!(unlike.is_unlike_itself() && unlike.least().is_none());
        assert!(unlike.answer().contains("differed from itself without any loss"));
        let failed = InjectedLoss { duel: None, ..found(30, (1.0, 1.0)) };
        let failed = resolution(vec![found(0, (0.9, 1.1)), failed]);
        assert!(next(&failed.found).is_none() && failed.has_failed() && failed.answer().contains("failed"));
        let halfway = resolution(vec![found(0, (0.9, 1.1)), found(30, (0.96, 0.98))]);
        assert!(halfway.least().is_none() && halfway.answer().contains("interrupted"));
    }

    #[test]
    fn json_has_shares_and_no_bound_where_there_is_none() {
        let all = resolution(vec![found(0, (0.0, f64::INFINITY)), found(200, (0.75, 0.85))]);
        let json = all.to_json();
        assert!(json["least_loss"].is_null() && json["duels"][0]["high"].is_null(), "{json}");
        assert_eq!(
            (&json["duels"][1]["expected"], &json["duels"][1]["detected"]),
            (&0.8.into(), &true.into())
        );
        assert_eq!(json["duels"][1]["holds_expected"], true);
    }
}
