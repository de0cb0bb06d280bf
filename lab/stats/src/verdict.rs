//! What a run says of its contenders.
//!
//! Two promises hold at whatever block the run stops, each with probability 1 - alpha:
//!
//! - no contender that equals the baseline is called better or worse (Holm over the contenders of the run);
//! - every interval, before it is cut as below, holds its contender's true ratio (each at level alpha / k for
//!   k contenders); with it, no "no difference" is said of a contender that is beyond the margin.
//!
//! Holm can reject a little before the interval at alpha / k leaves 1. The interval is then cut at 1, so that
//! what is printed agrees with the verdict: that the sign alone is claimed is what a simultaneous interval of
//! Holm's procedure says (Guilbaud 2008, "Simultaneous confidence regions corresponding to Holm's step-down
//! procedure", Biometrical Journal 50(5)). Intervals at Holm's own growing levels would be narrower but not
//! hold together.
//!
//! k counts the comparisons passed in. A contender that failed halfway stays in, with the blocks it has.

use super::holm::adjust;
use super::sequence::{Interval, Summary, Unit, half_width};

/// The most further blocks that "needs about N more" will say; beyond it, nothing useful can be said.
pub const NEEDED_BLOCKS_MAX: u32 = 10_000;

/// Which way the metric counts as better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// More is better: throughput.
    Higher,
    /// Less is better: latency, CPU time.
    Lower,
}

/// When a difference counts, and when a run may stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The chance of a wrong claim over all contenders of the run.
    pub alpha: f64,
    /// Ratios from 1 / (1 + margin) to 1 + margin are no difference that matters.
    pub margin: f64,
    /// The relative half-width that every interval must have before the run stops, if one was asked for.
    pub precision: Option<f64>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { alpha: 0.05, margin: 0.02, precision: None }
    }
}

/// What can be claimed of one contender against the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Better than the baseline, by some amount in the interval.
    Better,
    /// Worse than the baseline, by some amount in the interval.
    Worse,
    /// The whole interval is within the margin. A difference smaller than that may be there, and even be
    /// sure.
    NoDifference,
    /// Neither yet.
    Undecided {
        /// About how many more blocks a verdict takes if noise and ratio stay as they are. `None` before
        /// [`Unit::first`] and beyond [`NEEDED_BLOCKS_MAX`].
        needs_blocks: Option<u32>,
    },
}

/// One contender against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The contender's name, as given.
    pub contender: String,
    /// Contender / baseline: the geometric mean over the blocks. NaN without a block, or if a log ratio was
    /// not finite.
    pub ratio: f64,
    /// The interval's lower end; 0 if unbounded.
    pub low: f64,
    /// The interval's upper end; infinite if unbounded.
    pub high: f64,
    /// What was compared.
    pub unit: Unit,
    /// How many of them: blocks, or sessions of a duel.
    pub blocks: u32,
    /// The p-value of "ratio 1", adjusted by Holm over the contenders.
    pub p_adjusted: f64,
    /// The claim.
    pub verdict: Verdict,
}

impl Judgement {
    /// How far the interval reaches from the ratio at most, relative to it; infinite if unbounded.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        let reach = (self.high / self.ratio).max(self.ratio / self.low);
        if reach.is_finite() { reach - 1.0 } else { f64::INFINITY }
    }

    /// Whether there is a claim.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        !matches!(self.verdict, Verdict::Undecided { .. })
    }

    /// Whether the interval is as narrow as was asked for, if anything was.
    #[must_use]
    pub fn is_precise(&self, rules: &Rules) -> bool {
        rules.precision.is_none_or(|wanted| self.relative_half_width() <= wanted)
    }
}

/// What is known of one contender against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The contender's name.
    pub contender: String,
    /// What a log ratio is of.
    pub unit: Unit,
    /// The logarithms of contender / baseline, one a block or session.
    pub log_ratios: Vec<f64>,
}

/// Judges all contenders of a run on one metric.
#[must_use]
pub fn judge(comparisons: &[Comparison], better: Direction, rules: &Rules) -> Vec<Judgement> {
    let summaries: Vec<Option<Summary>> =
        comparisons.iter().map(|c| Summary::of(&c.log_ratios, c.unit)).collect();
    let p_values: Vec<f64> =
        summaries.iter().map(|summary| summary.map_or(1.0, |s| s.p_value(0.0))).collect();
    let level = rules.alpha / comparisons.len().max(1) as f64;
    let adjusted = adjust(&p_values);
    let rows = comparisons.iter().zip(summaries).zip(adjusted);
    rows.map(|((comparison, summary), p_adjusted)| {
        let (interval, verdict) = match summary {
            Some(summary) => claim(&summary, level, p_adjusted, better, rules),
            None => (
                Interval { estimate: f64::NAN, low: f64::NEG_INFINITY, high: f64::INFINITY },
                Verdict::Undecided { needs_blocks: None },
            ),
        };
        Judgement {
            contender: comparison.contender.clone(),
            ratio: interval.estimate.exp(),
            low: interval.low.exp(),
            high: interval.high.exp(),
            unit: comparison.unit,
            blocks: u32::try_from(comparison.log_ratios.len()).unwrap_or(u32::MAX),
            p_adjusted,
            verdict,
        }
    })
    .collect()
}

/// Whether a run may stop before its budget: every contender has a verdict and, if asked for, the precision.
/// True of no contender at all.
#[must_use]
pub fn decided(judgements: &[Judgement], rules: &Rules) -> bool {
    judgements.iter().all(|judgement| judgement.is_decided() && judgement.is_precise(rules))
}

/// The interval to print, in log ratios, and what may be said with it.
fn claim(
    summary: &Summary,
    level: f64,
    p_adjusted: f64,
    better: Direction,
    rules: &Rules,
) -> (Interval, Verdict) {
    let mut interval = summary.interval(level);
    let margin = rules.margin.ln_1p();
    let differs = p_adjusted <= rules.alpha;
    if differs {
        if summary.mean > 0.0 {
            interval.low = interval.low.max(0.0);
        } else {
            interval.high = interval.high.min(0.0);
        }
    }
    let verdict = if -margin <= interval.low && interval.high <= margin {
        Verdict::NoDifference
    } else if differs && (summary.mean > 0.0) == (better == Direction::Higher) {
        Verdict::Better
    } else if differs {
        Verdict::Worse
    } else {
        let distance = summary.mean.abs();
        // Either end that would settle it: the far side of zero, or the near side of the margin.
        Verdict::Undecided { needs_blocks: narrowed(summary, level, distance.max(margin - distance)) }
    };
    (interval, verdict)
}

/// About how many further values it takes until the interval of these reaches no farther than `reach` from their mean; none below
/// [`Unit::first`], beyond [`NEEDED_BLOCKS_MAX`], and where a value is not finite.
#[must_use]
pub fn needed(log_ratios: &[f64], unit: Unit, alpha: f64, reach: f64) -> Option<u32> {
    narrowed(&Summary::of(log_ratios, unit)?, alpha, reach)
}

/// The least number of further blocks after which the interval reaches no farther than `enough`, mean and deviation staying as
/// they are; by bisection, since the interval narrows with every block.
fn narrowed(summary: &Summary, level: f64, enough: f64) -> Option<u32> {
    if summary.count < summary.unit.first() {
        return None;
    }
    let narrow = |more: u32| {
        let count = summary.count.saturating_add(more as usize);
        half_width(summary.unit, count, summary.deviation, level) <= enough
    };
    if !narrow(NEEDED_BLOCKS_MAX) {
        return None;
    }
    let (mut short, mut sufficient) = (0, NEEDED_BLOCKS_MAX);
    while sufficient - short > 1 {
        let middle = short + (sufficient - short) / 2;
        if narrow(middle) {
            sufficient = middle;
        } else {
            short = middle;
        }
    }
    Some(sufficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(contender: &str, log_ratios: Vec<f64>) -> Comparison {
        Comparison { contender: contender.to_owned(), unit: Unit::Block, log_ratios }
    }

    fn check(ratios: &[f64], better: Direction, expected: Verdict) -> Judgement {
        let values = ratios.iter().map(|ratio| ratio.ln()).collect();
        let judged = judge(&[named("rival", values)], better, &Rules::default()).remove(0);
        assert_eq!(judged.verdict, expected, "{judged:?}");
        judged
    }

    #[test]
    fn verdicts() {
        check(&[2.0, 1.95, 2.06], Direction::Higher, Verdict::Better);
        check(&[2.0, 1.95, 2.06], Direction::Lower, Verdict::Worse);
        check(&[0.5, 0.49, 0.51], Direction::Higher, Verdict::Worse);
        check(&[0.5, 0.49, 0.51], Direction::Lower, Verdict::Better);
        check(&[1.001, 0.999, 1.0005], Direction::Higher, Verdict::NoDifference);
        // Sure, but within the margin.
        check(&[1.01; 4], Direction::Higher, Verdict::NoDifference);
        let empty = check(&[], Direction::Higher, Verdict::Undecided { needs_blocks: None });
        assert!(empty.ratio.is_nan() && empty.low == 0.0 && empty.high == f64::INFINITY);
        check(&[2.0, 2.0], Direction::Higher, Verdict::Undecided { needs_blocks: None });
        check(&[1.0, 0.0, 1.0], Direction::Higher, Verdict::Undecided { needs_blocks: None });
    }

    #[test]
    fn the_estimate_of_more_blocks_is_the_one_that_suffices() {
        let summary = Summary { unit: Unit::Block, count: 4, mean: 0.05, deviation: 0.03 };
        let more = narrowed(&summary, 0.05, 0.05).unwrap() as usize;
        assert!(half_width(Unit::Block, 4 + more, 0.03, 0.05) <= 0.05);
        assert!(half_width(Unit::Block, 4 + more - 1, 0.03, 0.05) > 0.05);
        let on_the_edge = Summary { unit: Unit::Block, count: 4, mean: 0.0, deviation: 5.0 };
        assert_eq!(narrowed(&on_the_edge, 0.05, 0.02f64.ln_1p()), None);
    }

    /// The second of two contenders is judged at alpha, not alpha / 2; its interval is cut to say so.
    #[test]
    fn what_holm_rejects_the_interval_leaves_out() {
        let near = |mean: f64| vec![mean - 0.01, mean, mean + 0.01, mean];
        let comparisons = [named("far", near(1.0)), named("near", near(0.028))];
        let judged = judge(&comparisons, Direction::Higher, &Rules::default());
        assert_eq!(judged[1].verdict, Verdict::Better);
        assert_eq!(judged[1].low, 1.0);
        let reversed = [named("near", near(0.028)), named("equal", near(0.0))];
        assert!(matches!(
            judge(&reversed, Direction::Higher, &Rules::default())[0].verdict,
            Verdict::Undecided { needs_blocks: Some(_) }
        ));
    }

    #[test]
    fn a_run_stops_when_all_have_a_verdict_and_the_precision() {
        let rules = Rules { precision: Some(0.05), ..Rules::default() };
        let values = |spread: f64| vec![0.7 - spread, 0.7, 0.7 + spread];
        let judged = |spread| judge(&[named("rival", values(spread))], Direction::Higher, &rules);
        assert!(decided(&[], &rules));
        assert!(decided(&judged(0.01), &rules));
        assert!(!decided(&judged(0.03), &rules));
        assert!(decided(&judged(0.03), &Rules::default()));
        assert!(!decided(&judged(0.3), &Rules::default()));
        assert!(!decided(&judge(&[named("none", vec![])], Direction::Higher, &rules), &rules));
    }
}
