//! What is claimed of a ratio, as a part of the axis, and what an interval says of it. Pure functions.

use serde::{Deserialize, Serialize};

use super::limits::RATIO_MAX;
use super::measured::{FROM, interval};
use netdyno_lab_store::{Is, Relation};
use netdyno_stats::needed;

/// The ratios for which a claim is true. Both pairs of bounds are those of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// An interval between these shows it.
    shown: (f64, f64),
    /// One that is wholly below the first or above the second refutes it.
    possible: (f64, f64),
    /// Up to this factor two are equal, where an order is claimed.
    equal: Option<f64>,
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

/// Ratios closer to 1 than this are no order: as for the verdicts of a run ...
const EQUAL_LEAST: f64 = 1.02;
/// ... and closer than the published ratio to this power, since who says threefold does not mean a hundredth ...
const EQUAL_POWER: f64 = 0.1;
/// ... up to this.
const EQUAL_MOST: f64 = 1.1;

impl Region {
    /// The ratios for which a relation holds.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn of(relation: &Relation) -> Result<Region, String> {
        let sensible = |value: f64| value.is_finite() && (1.0 / RATIO_MAX..=RATIO_MAX).contains(&value);
        let ratio = relation.ratio.filter(|r| sensible(*r));
        match (relation.is, relation.within) {
            (Is::More, None) => Ok(Region::more(ratio)),
            (Is::Less, None) => Ok(Region::less(ratio)),
            (Is::About, Some(within)) if within > 1.0 && sensible(within) => match ratio {
                Some(ratio) => Ok(Region::about(ratio, within)),
                None => Err(format!("needs a `ratio` up to {RATIO_MAX}, or `published` to have one")),
            },
            (Is::About, _) => Err("needs `within`, a factor above 1: within = 1.25".to_owned()),
            (_, Some(_)) => Err("`within` goes with \"about\"; the others are orders".to_owned()),
        }
    }
}

impl Region {
    /// More than 1. What is sure but about equal, for a claim of this ratio, is no difference that matters.
    #[must_use]
    pub fn more(claimed: Option<f64>) -> Self {
        let equal = about_equal(claimed);
        Self { shown: (1.0, f64::INFINITY), possible: (equal, f64::INFINITY), equal: Some(equal) }
    }

    /// Less than 1.
    #[must_use]
    pub fn less(claimed: Option<f64>) -> Self {
        let equal = about_equal(claimed);
        Self { shown: (0.0, 1.0), possible: (0.0, 1.0 / equal), equal: Some(equal) }
    }

    /// Within a factor of a ratio.
    #[must_use]
    pub fn about(ratio: f64, within: f64) -> Self {
        let ends = (ratio / within, ratio * within);
        Self { shown: ends, possible: ends, equal: None }
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

    /// How far an interval about a ratio may reach, as a logarithm, and still say something; not above 0 where no interval would.
    #[must_use]
    pub fn reach(self, ratio: f64) -> f64 {
        let (log, ln) = (ratio.ln(), |(low, high): (f64, f64)| (low.ln(), high.ln()));
        let (shown, possible) = (ln(self.shown), ln(self.possible));
        let inside = (log - shown.0).min(shown.1 - log);
        let outside = (possible.0 - log).max(log - possible.1);
        inside.max(outside)
    }

    /// Whether the interval of these says something.
    pub(super) fn is_told(self, logs: &[f64], alpha: f64) -> bool {
        let bounded = |log: f64| log.is_finite().then(|| log.exp());
        interval(logs, alpha).is_ok_and(|i| self.finding(bounded(i.low), bounded(i.high)) != Finding::Open)
    }

    /// About how many more it takes until their interval says something; none where more than anybody would wait for.
    pub(super) fn needs(self, logs: &[f64], alpha: f64) -> Option<u32> {
        let missing = FROM.first().saturating_sub(logs.len());
        match interval(logs, alpha) {
            _ if missing > 0 => u32::try_from(missing).ok(),
            Ok(interval) => needed(logs, FROM, alpha, self.reach(interval.estimate.exp())),
            Err(_) => None,
        }
    }

    /// The factor up to which two are equal, where the interval lies within it.
    #[must_use]
    pub fn equal(self, low: Option<f64>, high: Option<f64>) -> Option<f64> {
        let (low, high) = low.zip(high)?;
        self.equal.filter(|equal| low > 1.0 / equal && high < *equal)
    }
}

/// Up to which factor two are equal, where an order of this size is claimed.
fn about_equal(claimed: Option<f64>) -> f64 {
    let size = claimed.map_or(1.0, |ratio| ratio.max(1.0 / ratio));
    size.powf(EQUAL_POWER).clamp(EQUAL_LEAST, EQUAL_MOST)
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
        let (more, less) = (Region::more(None), Region::less(None));
        for (region, low, high, finding) in [
            (more, Some(1.5), Some(1.7), Shown),
            (more, Some(1.5), None, Shown),
            (more, Some(1.001), Some(1.4), Shown),
            // Sure, but within the margin.
            (more, Some(1.001), Some(1.015), Refuted),
            (more, Some(0.6), Some(0.9), Refuted),
            (more, Some(0.9), Some(1.2), Open),
            (more, None, None, Open),
            (less, Some(0.6), Some(0.99), Shown),
            (less, None, Some(0.9), Shown),
            (less, Some(0.985), Some(0.999), Refuted),
            (less, Some(1.1), None, Refuted),
            (less, Some(0.9), Some(1.1), Open),
            // Equal, for a claim of three times as much; more than equal, for one of a fifth.
            (Region::more(Some(3.0)), Some(0.97), Some(1.09), Refuted),
            (Region::less(Some(1.0 / 3.0)), Some(0.92), Some(1.09), Refuted),
            (Region::more(Some(1.2)), Some(0.97), Some(1.09), Open),
            (Region::more(Some(3.0)), Some(1.01), Some(1.3), Shown),
            (about, Some(1.7), Some(2.4), Shown),
            (about, Some(1.5), Some(2.4), Open),
            (about, Some(1.7), None, Open),
            (about, Some(1.1), Some(1.5), Refuted),
            (about, Some(2.6), None, Refuted),
        ] {
            assert_eq!(region.finding(low, high), finding, "{region:?}: {low:?} to {high:?}");
        }
    }

    /// An interval that reaches a little less far decides, one that reaches a little farther does not.
    #[test]
    fn an_interval_within_reach_decides() {
        for region in
            [Region::more(None), Region::less(Some(0.2)), Region::about(2.0, 1.25), Region::about(1.0, 1.5)]
        {
            for ratio in [0.3, 0.93, 0.995, 1.005, 1.01, 1.4, 1.9, 2.2, 5.0] {
                let reach = region.reach(ratio);
                let finding = |reach: f64| {
                    let reach = reach.exp();
                    region.finding(Some(ratio / reach), Some(ratio * reach))
                };
                assert!(reach <= 0.0 || finding(reach * 0.999) != Finding::Open, "{region:?} {ratio}");
                assert_eq!(finding(reach.max(0.0) * 1.001 + 1e-9), Finding::Open, "{region:?} {ratio}");
            }
        }
    }

    #[test]
    fn what_is_equal_is_told_with_its_factor() {
        let region = Region::more(Some(3.0));
        assert_eq!(region.equal(Some(0.95), Some(1.05)), Some(1.1));
        assert_eq!(region.equal(Some(0.85), Some(1.05)), None);
        assert_eq!(region.equal(None, None), None);
        assert_eq!(Region::about(1.0, 1.5).equal(Some(0.99), Some(1.01)), None);
    }

    /// Published order and the two intervals, to the verdict.
    #[test]
    fn verdicts() {
        use Verdict::{DoesNotHold, Holds, NotTested, OnlyAsPublished, Undecided};
        let of = |interval: Option<(f64, f64)>| {
            interval.map_or(Finding::Missing, |(low, high)| Region::more(None).finding(Some(low), Some(high)))
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
