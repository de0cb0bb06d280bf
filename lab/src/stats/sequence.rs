//! A confidence sequence for the mean of Gaussian log ratios whose variance is unknown.
//!
//! After every block the run may look at the interval and stop; the interval must be right all the same. An
//! ordinary t interval is not: looked at after each of 30 blocks, a "95 %" interval misses far more often
//! than 5 %. A confidence sequence covers the mean at all block counts at once with probability 1 - alpha, so
//! that it does so at whatever count the run stops.
//!
//! # The construction
//!
//! Lai (1976), "On confidence sequences", Annals of Statistics 4(2); worked out anew by Wang and Ramdas
//! (2023), "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance", arXiv
//! 2310.03722, in their part on Lai's sequence. With the t statistic of the first n blocks against a supposed
//! mean, mixing the likelihood ratio over a flat prior of the mean and 1/sigma of the deviation leaves, up to
//! a constant,
//!
//! ```text
//! M(n) = n^(-1/2) (1 + t^2 / (n - 1))^(n/2)
//! ```
//!
//! a nonnegative martingale (not integrable: the prior is improper) if the supposed mean is the true one. The
//! extended Ville inequality, started at block m, bounds the chance that it ever reaches c:
//!
//! ```text
//! P(some n >= m: M(n) >= c) <= P(M(m) >= c) + E[M(m); M(m) < c] / c
//!                            = 2 (1 - F(a)) + 2 a f(a)
//! ```
//!
//! where F and f are Student's t with m - 1 degrees of freedom and a is the |t| at which M(m) = c. For m = 3
//! this collapses, with x = a / sqrt(2 + a^2), to 1 - x^3, so that everything below is in closed form: with y
//! = 1 - (1 - alpha)^(2/3), the interval holds the means with (1 + t^2/(n-1))^n < n / (3 y^3).
//!
//! # Why this one
//!
//! Half-widths at alpha = 0.05, in standard deviations of the log ratio:
//!
//! | n | 2 | 3 | 4 | 5 | 6 | 8 | 12 | 20 |
//! |---|---|---|---|---|---|---|---|---|
//! | this: Lai from block 3 | inf | 4.38 | 3.08 | 2.45 | 2.07 | 1.63 | 1.22 | 0.89 |
//! | Lai from block 2 | 17.99 | 7.52 | 4.69 | 3.46 | 2.80 | 2.09 | 1.49 | 1.04 |
//! | Lai from block 4 | inf | inf | 2.64 | 2.14 | 1.84 | 1.48 | 1.13 | 0.83 |
//! | Gaussian mixture, variance 10 | inf | 7.63 | 3.27 | 2.42 | 2.00 | 1.56 | 1.17 | 0.85 |
//! | Gaussian mixture, variance 100 | inf | 6.21 | 3.87 | 2.93 | 2.41 | 1.85 | 1.35 | 0.96 |
//!
//! (The mixtures are the e-processes of the same paper, over the standardised mean.) The only constant is
//! [`FIRST_BLOCK`]. Three decides a plain difference in three blocks and costs a tenth of the width at eight
//! blocks against four; two would let two blocks speak, at ±18 deviations, and make every later interval
//! wider.

/// The first block count at which an interval is bounded: Lai's m. The closed forms of this file hold for 3
/// only.
pub const FIRST_BLOCK: usize = 3;

/// The least standard deviation of a log ratio that is believed: 0.01 %.
///
/// Three equal values do not show that there is no noise, only that it is below what was resolved. Windows
/// last at least 0.2 s and their ends are known to some 20 µs (a wake-up, one batch of a counter): 1 part in
/// 10,000. A larger deviation only widens the interval, so that the floor cannot make it less valid. It does
/// not stand in for a coarser unit: a metric that counts few things (milliseconds, drops) may repeat exactly
/// and still be off by that unit.
pub const DEVIATION_FLOOR: f64 = 1e-4;

/// A mean and where it may lie. Unbounded ends are infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean of what was observed.
    pub estimate: f64,
    /// The lower end; `f64::NEG_INFINITY` if nothing can be said yet.
    pub low: f64,
    /// The upper end; `f64::INFINITY` if nothing can be said yet.
    pub high: f64,
}

/// The interval for the mean of `log_ratios` at level `1 - alpha`, valid at any stopping time.
///
/// `None` for fewer than two values, and if one of them is not finite. Unbounded at two, and if `alpha` is
/// not between 0 and 1. It is that of all values so far, not the intersection with earlier ones: it stays a
/// function of the set of blocks, and three blocks that were alike by luck cannot fix the outcome of the run.
#[must_use]
pub fn confidence_sequence(log_ratios: &[f64], alpha: f64) -> Option<Interval> {
    Summary::of(log_ratios).filter(|summary| summary.count >= 2).map(|summary| summary.interval(alpha))
}

/// What the interval and the p-value need to know of the values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    pub(super) count: usize,
    pub(super) mean: f64,
    /// The sample standard deviation, not below [`DEVIATION_FLOOR`].
    pub(super) deviation: f64,
}

impl Summary {
    /// `None` without values or if one is not finite.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count.max(2) - 1) as f64).sqrt().max(DEVIATION_FLOOR);
        Some(Self { count, mean, deviation })
    }

    pub(super) fn interval(&self, alpha: f64) -> Interval {
        let half_width = half_width(self.count, self.deviation, alpha);
        Interval { estimate: self.mean, low: self.mean - half_width, high: self.mean + half_width }
    }

    /// The least alpha at which `mean` lies outside the interval: the inverse of [`half_width`].
    pub(super) fn p_value(&self, mean: f64) -> f64 {
        if self.count < FIRST_BLOCK || !mean.is_finite() {
            return 1.0;
        }
        let n = self.count as f64;
        // t^2 / (n - 1), with the deviation on n - 1 degrees of freedom.
        let excess = n * ((self.mean - mean) / self.deviation).powi(2) / (n - 1.0);
        let y = (((n / 3.0).ln() - n * excess.ln_1p()) / 3.0).exp();
        if y >= 1.0 { 1.0 } else { -f64::exp_m1(1.5 * f64::ln_1p(-y)) }
    }
}

/// How far the interval reaches from the mean of `count` values with this sample deviation.
pub(super) fn half_width(count: usize, deviation: f64, alpha: f64) -> f64 {
    if count < FIRST_BLOCK || !(alpha > 0.0 && alpha < 1.0) {
        return f64::INFINITY;
    }
    let n = count as f64;
    let y = -f64::exp_m1(f64::ln_1p(-alpha) * 2.0 / 3.0);
    let excess = f64::exp_m1(((n / 3.0).ln() - 3.0 * y.ln()) / n);
    deviation * ((n - 1.0) / n * excess).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_are_those_of_the_table() {
        let table = [(3, 4.38), (4, 3.08), (5, 2.45), (6, 2.07), (8, 1.63), (12, 1.22), (20, 0.89)];
        for (count, expected) in table {
            assert!((half_width(count, 1.0, 0.05) - expected).abs() < 0.006, "{count}");
        }
        assert_eq!(half_width(2, 1.0, 0.05), f64::INFINITY);
    }

    /// The closed form against the definition: alpha = 2 (1 - F(a)) + 2 a f(a) with two degrees of freedom.
    #[test]
    fn the_bound_at_three_blocks_is_lais() {
        for alpha in [0.5, 0.05, 0.00625, 1e-6] {
            let a = half_width(3, 1.0, alpha) * 3f64.sqrt();
            let tail = 1.0 - a / (2.0 + a * a).sqrt();
            let density = (2.0 + a * a).powf(-1.5);
            assert!((tail + 2.0 * a * density - alpha).abs() < 1e-9 * alpha.max(1e-6), "{alpha}");
        }
    }

    #[test]
    fn the_p_value_is_the_alpha_whose_interval_ends_there() {
        for count in [3, 4, 7, 30, 400] {
            for alpha in [0.2, 0.05, 0.006, 1e-9] {
                let end = half_width(count, 0.03, alpha);
                let p = Summary { count, mean: 0.4, deviation: 0.03 }.p_value(0.4 - end);
                assert!((p / alpha - 1.0).abs() < 1e-6, "{count} {alpha} {p}");
            }
        }
    }

    #[test]
    fn odd_inputs_give_no_claim_and_no_panic() {
        assert_eq!(confidence_sequence(&[], 0.05), None);
        assert_eq!(confidence_sequence(&[0.1], 0.05), None);
        assert_eq!(confidence_sequence(&[0.1, f64::NAN, 0.1], 0.05), None);
        assert_eq!(confidence_sequence(&[0.1, f64::INFINITY, 0.1], 0.05), None);
        let two = confidence_sequence(&[0.1, 0.1], 0.05).unwrap();
        assert_eq!((two.low, two.high), (f64::NEG_INFINITY, f64::INFINITY));
        for alpha in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(confidence_sequence(&[0.1; 5], alpha).unwrap().high, f64::INFINITY);
        }
        let far = Summary::of(&[700.0; 1000]).unwrap();
        assert_eq!(far.p_value(0.0), 0.0);
    }

    #[test]
    fn equal_values_keep_the_floor_as_noise() {
        let interval = confidence_sequence(&[0.0; 3], 0.05).unwrap();
        assert!(interval.high > 4e-4 && interval.high < 5e-4, "{interval:?}");
    }
}
