//! Anytime-valid p-values, and their correction for several contenders.
//!
//! The p-value is the least alpha at which the confidence sequence excludes the hypothetical mean, so that the
//! two never disagree. P(some n: p(n) <= u) <= u for every u; an ordinary p-value guarantees this for a single n
//! only. See Howard, Ramdas, McAuliffe and Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic
//! confidence sequences", Annals of Statistics 49(2), on why this is the same as validity at any stopping
//! time. The running minimum over the blocks would also be valid; it is not used for the reason given at
//! [`confidence_sequence`](super::confidence_sequence).

use super::sequence::{Summary, Unit};

/// The anytime-valid p-value of "the mean of `log_ratios` is `null`". 1 for fewer than [`Unit::first`] values, and
/// if one is not finite.
#[must_use]
pub fn p_value(log_ratios: &[f64], unit: Unit, null: f64) -> f64 {
    Summary::new(log_ratios, unit).map_or(1.0, |summary| summary.p_value(null))
}

/// Holm's step-down adjustment, in the order given: Holm (1979), "A simple sequentially rejective multiple
/// test procedure", Scandinavian Journal of Statistics 6(2).
///
/// Rejecting hypotheses with an adjusted value of at most alpha limits the probability of any false rejection to
/// alpha, for any dependence of the p-values. Here they depend on each other through the common baseline.
#[must_use]
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0f64;
    for (rank, &index) in order.iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        largest = largest.max(remaining * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_adjustment_is_monotonic() {
        assert_eq!(adjust(&[]), Vec::<f64>::new());
        assert_eq!(adjust(&[0.03]), vec![0.03]);
        let adjusted = adjust(&[0.04, 0.01, 0.03, 0.005]);
        for (got, expected) in adjusted.iter().zip([0.06, 0.03, 0.06, 0.02]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(adjust(&[0.9, 0.8]), vec![1.0, 1.0]);
    }

    #[test]
    fn without_evidence_the_p_value_is_one() {
        assert_eq!(p_value(&[], Unit::Block, 0.0), 1.0);
        assert_eq!(p_value(&[1.0, 1.0], Unit::Block, 0.0), 1.0);
        assert_eq!(p_value(&[1.0, 1.0, f64::NAN], Unit::Block, 0.0), 1.0);
        assert_eq!(p_value(&[1.0, 1.0, 1.0], Unit::Block, 1.0), 1.0);
        assert!(p_value(&[1.00, 1.01, 0.99], Unit::Block, 0.0) < 1e-3);
    }
}
