//! A claim about a ratio as a range of values, and its comparison with an interval. Pure functions.

use serde::{Deserialize, Serialize};

use super::limits::RATIO_MAX;
use super::measured::{FROM, interval};
use netdyno_lab_store::{Is, Relation};
use netdyno_stats::needed;

/// The ratios for which a claim is true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// An interval within this range confirms the claim.
    shown: (f64, f64),
    /// An interval outside of this range refutes the claim.
    possible: (f64, f64),
    /// Factor within which two values are equal, for a claimed order.
    equal: Option<f64>,
}

/// Result of a test of a claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The claim is true in the whole interval.
    Shown,
    /// The claim is false in the whole interval.
    Refuted,
    /// The claim is true in a part of the interval; more measurements could decide.
    Open,
    /// There is no interval.
    #[default]
    Missing,
}

impl Finding {
    /// `confirmed`, `refuted`, or `undecided`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shown => "confirmed",
            Self::Refuted => "refuted",
            Self::Open | Self::Missing => "undecided",
        }
    }

    /// Result for the opposite claim.
    pub fn negated(self) -> Self {
        match self {
            Self::Shown => Self::Refuted,
            Self::Refuted => Self::Shown,
            other => other,
        }
    }
}

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(rename = "Verdict"))]
pub enum ClaimVerdict {
    /// Confirmed by the fair method, which treats both sides alike.
    Holds,
    /// Confirmed by the article's own method, but refuted by the fair method.
    OnlyAsPublished,
    /// Refuted by the fair method, and not confirmed by the article's own method.
    DoesNotHold,
    /// The interval is too wide.
    Undecided,
    /// There is no result of the fair method.
    NotTested,
}

/// Ratios within this factor of 1 are equal, as in the verdicts of a run ...
const EQUAL_LEAST: f64 = 1.02;
/// ... and so are ratios within the published ratio to this power, because a claim of "three times" does not mean 1 % ...
const EQUAL_POWER: f64 = 0.1;
/// ... up to this factor.
const EQUAL_MOST: f64 = 1.1;

impl Region {
    /// The range of a relation, or the violated rule.
    pub fn new(relation: &Relation) -> Result<Region, String> {
        let sensible = |value: f64| value.is_finite() && (1.0 / RATIO_MAX..=RATIO_MAX).contains(&value);
        let ratio = relation.ratio.filter(|r| sensible(*r));
        check_precision(relation)?;
        match (relation.is, relation.within) {
            (Is::More, None) => Ok(Region::more(ratio)),
            (Is::Less, None) => Ok(Region::less(ratio)),
            (Is::About, Some(within)) if within > 1.0 && sensible(within) => match ratio {
                Some(ratio) => Ok(Region::about(ratio, within)),
                None => Err(format!("needs a `ratio` up to {RATIO_MAX}, here or in `published`")),
            },
            (Is::About, _) => Err("needs `within`, a factor above 1: within = 1.25".to_owned()),
            (_, Some(_)) => Err("`within` is only valid with \"about\"".to_owned()),
        }
    }

    /// More than 1. A significant ratio that counts as equal for the claimed ratio refutes the claim.
    pub fn more(claimed: Option<f64>) -> Self {
        let equal = about_equal(claimed);
        Self { shown: (1.0, f64::INFINITY), possible: (equal, f64::INFINITY), equal: Some(equal) }
    }

    /// Less than 1.
    pub fn less(claimed: Option<f64>) -> Self {
        let equal = about_equal(claimed);
        Self { shown: (0.0, 1.0), possible: (0.0, 1.0 / equal), equal: Some(equal) }
    }

    /// The direction that a relation claims: more or less than 1. `None` if equality is claimed.
    pub fn direction(relation: &Relation) -> Option<Self> {
        match (relation.is, relation.ratio) {
            (Is::More, ratio) => Some(Self::more(ratio)),
            (Is::Less, ratio) => Some(Self::less(ratio)),
            (Is::About, Some(ratio)) if ratio > EQUAL_LEAST => Some(Self::more(Some(ratio))),
            (Is::About, Some(ratio)) if ratio < 1.0 / EQUAL_LEAST => Some(Self::less(Some(ratio))),
            (Is::About, _) => None,
        }
    }

    /// Within a factor of a ratio.
    pub fn about(ratio: f64, within: f64) -> Self {
        let ends = (ratio / within, ratio * within);
        Self { shown: ends, possible: ends, equal: None }
    }

    /// Compares an interval with the range. An end of `None` is unbounded.
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

    /// Maximum half-width, as a logarithm, of an interval around a ratio that decides the claim; at most 0 if none does.
    pub fn reach(self, ratio: f64) -> f64 {
        let (log, ln) = (ratio.ln(), |(low, high): (f64, f64)| (low.ln(), high.ln()));
        let (shown, possible) = (ln(self.shown), ln(self.possible));
        let inside = (log - shown.0).min(shown.1 - log);
        let outside = (possible.0 - log).max(log - possible.1);
        inside.max(outside)
    }

    /// Estimated number of further values until their interval decides the claim; `None` if too many.
    pub(super) fn needs(self, logs: &[f64], alpha: f64) -> Option<u32> {
        let missing = FROM.first().saturating_sub(logs.len());
        match interval(logs, alpha) {
            _ if missing > 0 => u32::try_from(missing).ok(),
            Ok(interval) => needed(logs, FROM, alpha, self.reach(interval.estimate.exp())),
            Err(_) => None,
        }
    }

    /// Whether an order is claimed.
    pub fn is_order(self) -> bool {
        self.equal.is_some()
    }

    /// The factor within which two values are equal, if the interval lies within it.
    pub fn equal(self, low: Option<f64>, high: Option<f64>) -> Option<f64> {
        let (low, high) = low.zip(high)?;
        self.equal.filter(|equal| low > 1.0 / equal && high < *equal)
    }
}

/// The rule for a precision that a file states, or the violated rule.
fn check_precision(relation: &Relation) -> Result<(), String> {
    match (relation.precision, relation.is) {
        (None, _) => Ok(()),
        (Some(_), Is::About) => Err("`precision` is not valid with \"about\", which has `within`".to_owned()),
        (Some(precision), _) if precision > 1.0 && precision < RATIO_MAX => Ok(()),
        (Some(_), _) => Err("`precision` must be a factor above 1: precision = 1.05".to_owned()),
    }
}

/// Factor within which two values are equal, for a claimed ratio.
fn about_equal(claimed: Option<f64>) -> f64 {
    let size = claimed.map_or(1.0, |ratio| ratio.max(1.0 / ratio));
    size.powf(EQUAL_POWER).clamp(EQUAL_LEAST, EQUAL_MOST)
}

/// Verdict on a claim from the results of both methods.
pub(super) fn verdict(article: Finding, fair: Finding) -> ClaimVerdict {
    match (fair, article) {
        (Finding::Shown, _) => ClaimVerdict::Holds,
        (Finding::Refuted, Finding::Shown) => ClaimVerdict::OnlyAsPublished,
        (Finding::Refuted, _) => ClaimVerdict::DoesNotHold,
        (Finding::Open, _) => ClaimVerdict::Undecided,
        (Finding::Missing, _) => ClaimVerdict::NotTested,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_decide_claims() {
        use Finding::{Open, Refuted, Shown};
        let about = Region::about(2.0, 1.25);
        let (more, less) = (Region::more(None), Region::less(None));
        for (region, low, high, finding) in [
            (more, Some(1.5), Some(1.7), Shown),
            (more, Some(1.5), None, Shown),
            (more, Some(1.001), Some(1.4), Shown),
            // Significant, but within the margin.
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

    /// A slightly narrower interval decides, a slightly wider one does not.
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
    fn equality_is_reported_with_its_factor() {
        let region = Region::more(Some(3.0));
        assert_eq!(region.equal(Some(0.95), Some(1.05)), Some(1.1));
        assert_eq!(region.equal(Some(0.85), Some(1.05)), None);
        assert_eq!(region.equal(None, None), None);
        assert_eq!(Region::about(1.0, 1.5).equal(Some(0.99), Some(1.01)), None);
    }

    #[test]
    fn a_precision_is_a_factor_above_1_of_an_order() {
        for (is, precision, valid) in [
            (Is::More, Some(1.05), true),
            (Is::Less, None, true),
            (Is::More, Some(1.0), false),
            (Is::More, Some(f64::NAN), false),
            (Is::More, Some(f64::INFINITY), false),
            (Is::About, Some(1.05), false),
        ] {
            let within = (is == Is::About).then_some(1.2);
            let relation = Relation { is, ratio: Some(2.0), within, precision };
            assert_eq!(Region::new(&relation).is_ok(), valid, "{is:?} {precision:?}");
        }
    }

    /// Published order and the two intervals, to the verdict.
    #[test]
    fn verdicts() {
        use ClaimVerdict::{DoesNotHold, Holds, NotTested, OnlyAsPublished, Undecided};
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
