//! The size of a claim: whether the published ratio agrees with an interval. Pure functions.
//!
//! The order of two sides may be as published while the ratio is not. A verdict therefore has two parts.

use super::measured::{FROM, interval};
use super::region::{Finding, Region};
use netdyno_lab_store::{Is, Relation};
use netdyno_stats::needed;

/// A published ratio and the precision of its test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    published: f64,
    /// The factor within which an interval of the ratio must lie for the ratio to be confirmed.
    precision: f64,
    /// The tolerated factor, if the claim states one.
    within: Option<f64>,
}

/// The default precision is the published ratio to this power: 4.7 % for 1.2, 12 % for 1.58, ...
const PRECISION_POWER: f64 = 0.25;
/// ... and within this range.
const PRECISION_RANGE: (f64, f64) = (1.05, 1.25);

impl Size {
    /// The size that a relation claims; `None` if no ratio was published.
    pub fn new(relation: &Relation) -> Option<Self> {
        let published = relation.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)?;
        let by_size = published.max(1.0 / published).powf(PRECISION_POWER);
        let precision = relation.precision.unwrap_or(by_size.clamp(PRECISION_RANGE.0, PRECISION_RANGE.1));
        Some(Self { published, precision, within: relation.within.filter(|_| relation.is == Is::About) })
    }

    /// Confirmed if the published ratio lies in an interval that is narrow enough, or the interval within the tolerated factor;
    /// refuted if it lies outside.
    pub fn finding(self, low: Option<f64>, high: Option<f64>) -> Finding {
        if let Some(within) = self.within {
            return Region::about(self.published, within).finding(low, high);
        }
        match (self.distance(low, high), low.zip(high)) {
            (Some(_), _) => Finding::Refuted,
            (None, Some((low, high))) if high / low <= self.precision.powi(2) => Finding::Shown,
            (None, _) => Finding::Open,
        }
    }

    /// The factor between the published ratio and the nearest end of the interval; `None` if it lies inside.
    pub fn distance(self, low: Option<f64>, high: Option<f64>) -> Option<f64> {
        let below = low.map(|low| low / self.published);
        let above = high.map(|high| self.published / high);
        [below, above].into_iter().flatten().find(|factor| *factor > 1.0)
    }

    /// Estimated number of further values until their interval decides the size; `None` if too many.
    pub(super) fn needs(self, logs: &[f64], alpha: f64) -> Option<u32> {
        let estimate = interval(logs, alpha).ok()?.estimate;
        let reach = match self.within {
            Some(within) => Region::about(self.published, within).reach(estimate.exp()),
            None => (estimate - self.published.ln()).abs().max(self.precision.ln()),
        };
        needed(logs, FROM, alpha, reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(is: Is, ratio: f64, within: Option<f64>, precision: Option<f64>) -> Size {
        Size::new(&Relation { is, ratio: Some(ratio), within, precision }).unwrap()
    }

    #[test]
    fn intervals_decide_the_size() {
        use Finding::{Open, Refuted, Shown};
        let more = size(Is::More, 1.58, None, None);
        let exact = size(Is::More, 1.58, None, Some(1.01));
        let less = size(Is::Less, 0.5, None, None);
        let about = size(Is::About, 1.0, Some(1.15), None);
        for (size, low, high, finding, distance) in [
            // The order is as published, the ratio is not.
            (more, Some(2.34), Some(2.54), Refuted, Some(2.34 / 1.58)),
            (more, Some(1.2), Some(1.4), Refuted, Some(1.58 / 1.4)),
            (more, Some(1.5), Some(1.7), Shown, None),
            (more, Some(1.0), Some(2.5), Open, None),
            (more, Some(1.5), None, Open, None),
            (more, Some(2.0), None, Refuted, Some(2.0 / 1.58)),
            (more, None, Some(1.0), Refuted, Some(1.58)),
            (more, None, None, Open, None),
            (exact, Some(1.5), Some(1.7), Open, None),
            (exact, Some(1.57), Some(1.59), Shown, None),
            (less, Some(0.48), Some(0.52), Shown, None),
            (less, Some(0.6), Some(0.7), Refuted, Some(1.2)),
            // A tolerated factor decides, although the published ratio is outside of the interval.
            (about, Some(1.02), Some(1.08), Shown, Some(1.02)),
            (about, Some(1.2), Some(1.3), Refuted, Some(1.2)),
            (about, Some(1.1), Some(1.2), Open, Some(1.1)),
        ] {
            assert_eq!(size.finding(low, high), finding, "{size:?}: {low:?} to {high:?}");
            let measured = size.distance(low, high);
            let equal = measured.zip(distance).map_or(measured == distance, |(a, b)| (a - b).abs() < 1e-12);
            assert!(equal, "{size:?}: {low:?} to {high:?}: {measured:?}");
        }
    }

    #[test]
    fn more_values_are_needed_until_the_size_is_decided() {
        let wide: Vec<f64> = [1.2f64, 2.1, 1.5, 1.7, 1.4, 1.6].map(f64::ln).to_vec();
        let narrow: Vec<f64> = [1.57f64, 1.59, 1.58, 1.575, 1.585, 1.58].map(f64::ln).to_vec();
        let size = size(Is::More, 1.58, None, None);
        assert!(size.needs(&wide, 0.05).is_some_and(|count| count > 1));
        assert_eq!(size.needs(&narrow, 0.05), Some(1));
        assert_eq!(size.needs(&wide[..1], 0.05), None, "there is no interval yet");
    }

    #[test]
    fn a_size_needs_a_published_ratio() {
        let relation = |ratio| Relation { is: Is::More, ratio, within: None, precision: None };
        assert_eq!(Size::new(&relation(None)), None);
        assert!(Size::new(&relation(Some(2.0))).is_some());
    }
}
