//! What is claimed of a ratio, as a part of the axis, and what an interval says of it. Pure functions.

use serde::{Deserialize, Serialize};

/// The ratios for which a claim is true. Both pairs of bounds are those of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// An interval between these shows it.
    shown: (f64, f64),
    /// One that is wholly below the first or above the second refutes it.
    possible: (f64, f64),
}

/// What measuring says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The whole interval is where the claim is true.
    Shown,
    /// No part of it is.
    Refuted,
    /// Some part of it is: more measuring would tell.
    Open,
    /// There is no interval.
    Missing,
}

impl Finding {
    /// Of the contrary.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Shown => Self::Refuted,
            Self::Refuted => Self::Shown,
            other => other,
        }
    }
}

/// What can be said of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Where both sides are treated alike, it is so.
    Holds,
    /// It is so by the article's own method, and not where both sides are treated alike.
    OnlyAsPublished,
    /// It is not so where both sides are treated alike, nor shown by the article's own method.
    DoesNotHold,
    /// The intervals are too wide to tell.
    Undecided,
    /// Nothing was measured fairly.
    NotTested,
}

/// Ratios closer to 1 than this are no order: as for the verdicts of a run.
const MARGIN: f64 = 0.02;

impl Region {
    /// More than 1. What is sure but within the margin is no difference that matters.
    pub const MORE: Self = Self { shown: (1.0, f64::INFINITY), possible: (1.0 + MARGIN, f64::INFINITY) };
    /// Less than 1.
    pub const LESS: Self = Self { shown: (0.0, 1.0), possible: (0.0, 1.0 / (1.0 + MARGIN)) };

    /// Within a factor of a ratio.
    #[must_use]
    pub fn about(ratio: f64, within: f64) -> Self {
        let ends = (ratio / within, ratio * within);
        Self { shown: ends, possible: ends }
    }

    /// What an interval says; an end that is none is unbounded.
    #[must_use]
    pub fn finding(self, low: Option<f64>, high: Option<f64>) -> Finding {
        let (low, high) = (low.unwrap_or(f64::MIN_POSITIVE), high.unwrap_or(f64::MAX));
        if high < self.possible.0 || low > self.possible.1 {
            Finding::Refuted
        } else if low > self.shown.0 && high < self.shown.1 {
            Finding::Shown
        } else {
            Finding::Open
        }
    }
}

/// The verdict on a claim from what its two methods say.
#[must_use]
pub(super) fn verdict(article: Finding, fair: Finding) -> Verdict {
    match (fair, article) {
        (Finding::Shown, _) => Verdict::Holds,
        (Finding::Refuted, Finding::Shown) => Verdict::OnlyAsPublished,
        (Finding::Refuted, _) => Verdict::DoesNotHold,
        (Finding::Open, _) => Verdict::Undecided,
        (Finding::Missing, _) => Verdict::NotTested,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_intervals_say() {
        use Finding::{Open, Refuted, Shown};
        let about = Region::about(2.0, 1.25);
        for (region, low, high, finding) in [
            (Region::MORE, Some(1.5), Some(1.7), Shown),
            (Region::MORE, Some(1.5), None, Shown),
            (Region::MORE, Some(1.001), Some(1.4), Shown),
            // Sure, but within the margin.
            (Region::MORE, Some(1.001), Some(1.015), Refuted),
            (Region::MORE, Some(0.6), Some(0.9), Refuted),
            (Region::MORE, Some(0.9), Some(1.2), Open),
            (Region::MORE, None, None, Open),
            (Region::LESS, Some(0.6), Some(0.99), Shown),
            (Region::LESS, None, Some(0.9), Shown),
            (Region::LESS, Some(0.985), Some(0.999), Refuted),
            (Region::LESS, Some(1.1), None, Refuted),
            (Region::LESS, Some(0.9), Some(1.1), Open),
            (about, Some(1.7), Some(2.4), Shown),
            (about, Some(1.5), Some(2.4), Open),
            (about, Some(1.7), None, Open),
            (about, Some(1.1), Some(1.5), Refuted),
            (about, Some(2.6), None, Refuted),
        ] {
            assert_eq!(region.finding(low, high), finding, "{region:?}: {low:?} to {high:?}");
        }
    }

    /// Published order and the two intervals, to the verdict.
    #[test]
    fn verdicts() {
        use Verdict::{DoesNotHold, Holds, NotTested, OnlyAsPublished, Undecided};
        let of = |interval: Option<(f64, f64)>| {
            interval.map_or(Finding::Missing, |(low, high)| Region::MORE.finding(Some(low), Some(high)))
        };
        let (more, less, open) = (Some((1.4, 1.6)), Some((0.5, 0.7)), Some((0.7, 1.4)));
        for (article, fair, expected) in [
            (more, more, Holds),
            (less, more, Holds),
            (open, more, Holds),
            (None, more, Holds),
            (more, less, OnlyAsPublished),
            (less, less, DoesNotHold),
            (open, less, DoesNotHold),
            (None, less, DoesNotHold),
            (more, open, Undecided),
            (None, open, Undecided),
            (more, None, NotTested),
            (None, None, NotTested),
        ] {
            assert_eq!(verdict(of(article), of(fair)), expected, "{article:?}, {fair:?}");
        }
    }
}
