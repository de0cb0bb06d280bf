//! Verdicts on the contenders of a run.
//!
//! Two guarantees hold at whatever block the run stops, each with probability 1 - alpha:
//!
//! - no contender that equals the baseline is called better or worse (Holm over the contenders of the run);
//! - every interval, before it is cut as described below, contains its contender's true ratio (each at level
//!   alpha / k for k contenders). Hence no contender beyond the margin is called "no difference".
//!
//! Holm can reject slightly before the interval at alpha / k excludes 1. The interval is then cut at 1, so that
//! it agrees with the verdict. This is the simultaneous interval of Holm's procedure, which claims only the sign
//! (Guilbaud 2008, "Simultaneous confidence regions corresponding to Holm's step-down procedure", Biometrical
//! Journal 50(5)). Intervals at Holm's own increasing levels would be narrower but not simultaneous.
//!
//! k counts the comparisons passed in. A contender that failed halfway stays in, with the blocks it has.

use super::holm::adjust;
use super::sequence::{Interval, Summary, Unit, half_width};

/// Maximum estimate of further blocks; beyond it, no estimate is given.
pub const NEEDED_BLOCKS_MAX: u32 = 10_000;

/// Direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Higher is better: throughput.
    Higher,
    /// Lower is better: latency, CPU time.
    Lower,
}

/// When a difference counts, and when a run may stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Probability of a false claim over all contenders of the run.
    pub alpha: f64,
    /// Ratios from 1 / (1 + margin) to 1 + margin count as no difference.
    pub margin: f64,
    /// Relative half-width that every interval must reach before the run stops, if requested.
    pub precision: Option<f64>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { alpha: 0.05, margin: 0.02, precision: None }
    }
}

/// Verdict on one contender against the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// No difference beyond the margin. A smaller difference may exist and even be significant.
    NoDifference,
    /// The interval is too wide for another verdict.
    Undecided,
}

impl VerdictKind {
    /// The verdict in words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifference => "no difference",
            Self::Undecided => "undecided",
        }
    }
}

/// Result of one contender against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Contender / baseline: the geometric mean over the blocks. NaN without a block, or if a log ratio was
    /// not finite.
    pub ratio: f64,
    /// Lower end of the interval; 0 if unbounded.
    pub low: f64,
    /// Upper end of the interval; infinite if unbounded.
    pub high: f64,
    /// Unit of observation.
    pub unit: Unit,
    /// Number of observations: blocks, or sessions of a duel.
    pub blocks: u32,
    /// p-value of "the ratio is 1", adjusted by Holm over the contenders.
    pub p_adjusted: f64,
    /// The verdict.
    pub verdict: VerdictKind,
    /// If undecided: estimated number of further blocks for a verdict, assuming that noise and ratio stay the
    /// same. `None` before [`Unit::first`] and beyond [`NEEDED_BLOCKS_MAX`].
    pub needs_blocks: Option<u32>,
}

impl Judgement {
    /// Maximum distance of the interval's ends from the ratio, relative to it; infinite if unbounded.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        let reach = (self.high / self.ratio).max(self.ratio / self.low);
        if reach.is_finite() { reach - 1.0 } else { f64::INFINITY }
    }

    /// Whether the interval has the requested precision, if any.
    #[must_use]
    pub fn is_precise(&self, rules: &Rules) -> bool {
        rules.precision.is_none_or(|wanted| self.relative_half_width() <= wanted)
    }
}

/// Observations of one contender against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedRatios {
    /// Unit of observation.
    pub unit: Unit,
    /// Logarithms of contender / baseline, one per block or session.
    pub log_ratios: Vec<f64>,
}

/// Judges all contenders of a run on one metric.
#[must_use]
pub fn judge(comparisons: &[PairedRatios], better: Direction, rules: &Rules) -> Vec<Judgement> {
    let summaries: Vec<Option<Summary>> =
        comparisons.iter().map(|c| Summary::new(&c.log_ratios, c.unit)).collect();
    let p_values: Vec<f64> =
        summaries.iter().map(|summary| summary.map_or(1.0, |s| s.p_value(0.0))).collect();
    let level = rules.alpha / comparisons.len().max(1) as f64;
    let rows = comparisons.iter().zip(summaries).zip(adjust(&p_values));
    rows.map(|((comparison, summary), p_adjusted)| {
        let (interval, verdict, needs_blocks) = match summary {
            Some(summary) => verdict(&summary, level, p_adjusted, better, rules),
            None => (Interval::unbounded(f64::NAN), VerdictKind::Undecided, None),
        };
        Judgement {
            ratio: interval.estimate.exp(),
            low: interval.low.exp(),
            high: interval.high.exp(),
            unit: comparison.unit,
            blocks: u32::try_from(comparison.log_ratios.len()).unwrap_or(u32::MAX),
            p_adjusted,
            verdict,
            needs_blocks,
        }
    })
    .collect()
}

/// Whether a run may stop before its budget: every contender has a verdict and the requested precision. True
/// without contenders.
#[must_use]
pub fn decided(judgements: &[Judgement], rules: &Rules) -> bool {
    judgements.iter().all(|j| j.verdict != VerdictKind::Undecided && j.is_precise(rules))
}

/// The interval to print, in log ratios, the verdict, and the estimated number of further blocks.
fn verdict(
    summary: &Summary,
    level: f64,
    p_adjusted: f64,
    better: Direction,
    rules: &Rules,
) -> (Interval, VerdictKind, Option<u32>) {
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
    if -margin <= interval.low && interval.high <= margin {
        (interval, VerdictKind::NoDifference, None)
    } else if differs && (summary.mean > 0.0) == (better == Direction::Higher) {
        (interval, VerdictKind::Better, None)
    } else if differs {
        (interval, VerdictKind::Worse, None)
    } else {
        let distance = summary.mean.abs();
        // The interval must exclude 0 or lie within the margin.
        let needed = narrowed(summary, level, distance.max(margin - distance));
        (interval, VerdictKind::Undecided, needed)
    }
}

/// Estimated number of further values until the half-width of their interval is at most `reach`. `None` below
/// [`Unit::first`], beyond [`NEEDED_BLOCKS_MAX`], and if a value is not finite.
#[must_use]
pub fn needed(log_ratios: &[f64], unit: Unit, alpha: f64, reach: f64) -> Option<u32> {
    narrowed(&Summary::new(log_ratios, unit)?, alpha, reach)
}

/// Minimum number of further blocks after which the half-width is at most `enough`, with unchanged mean and
/// deviation. Found by bisection, because the interval narrows with every block.
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

    fn blocks(log_ratios: Vec<f64>) -> PairedRatios {
        PairedRatios { unit: Unit::Block, log_ratios }
    }

    fn check(ratios: &[f64], better: Direction, expected: VerdictKind) -> Judgement {
        let values = ratios.iter().map(|ratio| ratio.ln()).collect();
        let judged = judge(&[blocks(values)], better, &Rules::default()).remove(0);
        assert_eq!(judged.verdict, expected, "{judged:?}");
        judged
    }

    #[test]
    fn verdicts() {
        check(&[2.0, 1.95, 2.06], Direction::Higher, VerdictKind::Better);
        check(&[2.0, 1.95, 2.06], Direction::Lower, VerdictKind::Worse);
        check(&[0.5, 0.49, 0.51], Direction::Higher, VerdictKind::Worse);
        check(&[0.5, 0.49, 0.51], Direction::Lower, VerdictKind::Better);
        check(&[1.001, 0.999, 1.0005], Direction::Higher, VerdictKind::NoDifference);
        // Significant, but within the margin.
        check(&[1.01; 4], Direction::Higher, VerdictKind::NoDifference);
        let empty = check(&[], Direction::Higher, VerdictKind::Undecided);
        assert!(empty.ratio.is_nan() && empty.low == 0.0 && empty.high == f64::INFINITY);
        check(&[2.0, 2.0], Direction::Higher, VerdictKind::Undecided);
        check(&[1.0, 0.0, 1.0], Direction::Higher, VerdictKind::Undecided);
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

    /// The second of two contenders is judged at alpha, not alpha / 2, and its interval is cut accordingly.
    #[test]
    fn the_interval_agrees_with_holm() {
        let near = |mean: f64| vec![mean - 0.01, mean, mean + 0.01, mean];
        let comparisons = [blocks(near(1.0)), blocks(near(0.028))];
        let judged = judge(&comparisons, Direction::Higher, &Rules::default());
        assert_eq!(judged[1].verdict, VerdictKind::Better);
        assert_eq!(judged[1].low, 1.0);
        let reversed = [blocks(near(0.028)), blocks(near(0.0))];
        let undecided = &judge(&reversed, Direction::Higher, &Rules::default())[0];
        assert!(undecided.verdict == VerdictKind::Undecided && undecided.needs_blocks.is_some());
    }

    #[test]
    fn a_run_stops_when_all_have_a_verdict_and_the_requested_precision() {
        let rules = Rules { precision: Some(0.05), ..Rules::default() };
        let values = |spread: f64| vec![0.7 - spread, 0.7, 0.7 + spread];
        let judged = |spread| judge(&[blocks(values(spread))], Direction::Higher, &rules);
        assert!(decided(&[], &rules));
        assert!(decided(&judged(0.01), &rules));
        assert!(!decided(&judged(0.03), &rules));
        assert!(decided(&judged(0.03), &Rules::default()));
        assert!(!decided(&judged(0.3), &Rules::default()));
        assert!(!decided(&judge(&[blocks(vec![])], Direction::Higher, &rules), &rules));
    }
}
