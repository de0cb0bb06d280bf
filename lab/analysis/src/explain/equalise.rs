//! Share of a gap that closes when one property is equalised.

use super::model::Closes;
use netdyno_stats::Interval;

/// Computes the share of a gap that closes from the original and the equalised log ratio. Each interval must have half the
/// error level, so that both are simultaneous. `None` if the gap itself is not significant.
pub fn closes(before: Interval, after: Interval) -> Option<Closes> {
    // A positive gap keeps the ends in order.
    let turned = |i: Interval| Interval { estimate: -i.estimate, low: -i.high, high: -i.low };
    let (before, after) = match () {
        () if before.low > 0.0 => (before, after),
        () if before.high < 0.0 => (turned(before), turned(after)),
        () => return None,
    };
    let left = |after: f64, before: f64| after / before;
    // Which end of `before` gives the minimum depends on the sign.
    let ends = [after.low, after.high].map(|a| [left(a, before.low), left(a, before.high)]);
    let least = ends[0].into_iter().fold(f64::INFINITY, f64::min);
    let most = ends[1].into_iter().fold(f64::NEG_INFINITY, f64::max);
    let bounded = |share: f64| Some(share).filter(|s| s.is_finite());
    Some(Closes {
        share: 1.0 - left(after.estimate, before.estimate),
        low: bounded(1.0 - most),
        high: bounded(1.0 - least),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(estimate: f64, low: f64, high: f64) -> Interval {
        Interval { estimate, low, high }
    }

    #[test]
    fn a_gap_closes_by_its_share_on_either_side() {
        let half = closes(interval(0.4, 0.38, 0.42), interval(0.2, 0.19, 0.21)).unwrap();
        assert!((half.share - 0.5).abs() < 1e-9);
        assert!((half.low.unwrap() - (1.0 - 0.21 / 0.38)).abs() < 1e-9, "{half:?}");
        assert!((half.high.unwrap() - (1.0 - 0.19 / 0.42)).abs() < 1e-9, "{half:?}");
        let turned = closes(interval(-0.4, -0.42, -0.38), interval(-0.2, -0.21, -0.19)).unwrap();
        assert_eq!(turned, half);
    }

    #[test]
    fn a_reversed_gap_closes_by_more_than_its_size() {
        let over = closes(interval(0.4, 0.3, 0.5), interval(-0.1, -0.2, 0.0)).unwrap();
        assert!(over.share > 1.0 && over.low == Some(1.0) && over.high.unwrap() > 1.6, "{over:?}");
        let wider = closes(interval(0.4, 0.3, 0.5), interval(0.6, 0.5, 0.7)).unwrap();
        assert!(wider.share < 0.0 && wider.low.unwrap() < -1.0, "{wider:?}");
    }

    #[test]
    fn an_insignificant_gap_has_no_share() {
        assert_eq!(closes(interval(0.1, -0.1, 0.3), interval(0.0, -0.1, 0.1)), None);
        let open = closes(interval(0.1, 0.05, 0.3), interval(0.0, f64::NEG_INFINITY, f64::INFINITY)).unwrap();
        assert_eq!((open.low, open.high), (None, None));
    }
}
