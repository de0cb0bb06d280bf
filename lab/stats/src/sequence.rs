//! A confidence sequence for the mean of Gaussian log ratios whose variance is unknown.
//!
//! A run may stop after any block, depending on the interval, which must nevertheless be valid. An ordinary t
//! interval is not: evaluated after each of 30 blocks, a "95 %" interval misses the mean far more often than in
//! 5 % of the runs. A confidence sequence covers the mean at all block counts simultaneously with probability
//! 1 - alpha, and therefore at any stopping time.
//!
//! # The construction
//!
//! Lai (1976), "On confidence sequences", Annals of Statistics 4(2); derived again by Wang and Ramdas
//! (2023), "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance", arXiv
//! 2310.03722, in the section on Lai's sequence. With the t statistic of the first n blocks for a hypothetical
//! mean, mixing the likelihood ratio over a flat prior of the mean and 1/sigma of the deviation leaves, up to
//! a constant,
//!
//! ```text
//! M(n) = n^(-1/2) (1 + t^2 / (n - 1))^(n/2)
//! ```
//!
//! a nonnegative martingale (not integrable: the prior is improper) if the hypothetical mean is the true one. The
//! extended Ville inequality, started at block m, bounds the chance that it ever reaches c:
//!
//! ```text
//! P(some n >= m: M(n) >= c) <= P(M(m) >= c) + E[M(m); M(m) < c] / c
//!                            = 2 (1 - F(a)) + 2 a f(a)
//! ```
//!
//! where F and f are Student's t with m - 1 degrees of freedom and a is the |t| at which M(m) = c. Both ends are
//! monotone in a, so that the a of an alpha can be found, and with it c and every half-width.
//!
//! # Choice of the sequence
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
//! (The mixtures are the e-processes of the same paper, over the standardised mean.) The only constant is m, the first
//! count with a bounded interval: [`Unit::first`]. For blocks it is three, which decides a large difference in three
//! blocks. Two would give an interval of ±18 deviations after two blocks and widen every later interval.
//!
//! Duels have dozens of sessions and compare many contenders at a small alpha, where an early start costs most. At alpha = 0.05 / 11:
//!
//! | n | 5 | 6 | 8 | 10 | 12 | 20 | 30 |
//! |---|---|---|---|---|---|---|---|
//! | from session 3 | 5.29 | 4.02 | 2.80 | 2.21 | 1.86 | 1.24 | 0.95 |
//! | from session 5 | 3.91 | 3.11 | 2.28 | 1.85 | 1.59 | 1.10 | 0.85 |
//! | this: from session 6 | inf | 2.94 | 2.18 | 1.78 | 1.53 | 1.07 | 0.83 |
//! | from session 8 | inf | inf | 2.05 | 1.69 | 1.47 | 1.03 | 0.81 |

use statrs::distribution::{Continuous, StudentsT};
use statrs::function::beta::beta_reg;

/// Unit of observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A block: both sides are measured once, one after the other.
    Block,
    /// A session of a duel: both sides are alive and run alternately.
    Session,
}

impl Unit {
    /// Minimum count of a bounded interval: Lai's m.
    #[must_use]
    pub const fn first(self) -> usize {
        match self {
            Unit::Block => 3,
            Unit::Session => 6,
        }
    }

    /// `block`, `blocks`.
    #[must_use]
    pub fn noun(self, count: u32) -> &'static str {
        match (self, count) {
            (Unit::Block, 1) => "block",
            (Unit::Block, _) => "blocks",
            (Unit::Session, 1) => "session",
            (Unit::Session, _) => "sessions",
        }
    }
}

/// Lower bound of the standard deviation of a log ratio: 0.01 %.
///
/// Three equal values do not show that there is no noise, only that it is below the resolution. Windows last at
/// least 0.2 s and their ends are accurate to about 20 µs (a wake-up, one batch of a counter): 1 part in 10,000.
/// A larger deviation only widens the interval, so that the floor cannot make it invalid. The floor does not
/// account for a coarse unit: a metric with small counts (milliseconds, drops) may repeat exactly and still be
/// off by one unit.
pub const DEVIATION_FLOOR: f64 = 1e-4;

/// An estimate of a mean with its confidence interval. Unbounded ends are infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The sample mean.
    pub estimate: f64,
    /// Lower end; `f64::NEG_INFINITY` if unbounded.
    pub low: f64,
    /// Upper end; `f64::INFINITY` if unbounded.
    pub high: f64,
}

impl Interval {
    /// An interval without bounds.
    #[must_use]
    pub fn unbounded(estimate: f64) -> Interval {
        Interval { estimate, low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    /// Converts log ratios to ratios. Unbounded ends are `None`.
    #[must_use]
    pub fn ratios(&self) -> (f64, Option<f64>, Option<f64>) {
        let bounded = |log: f64| log.is_finite().then(|| log.exp());
        (self.estimate.exp(), bounded(self.low), bounded(self.high))
    }
}

/// The interval for the mean of `log_ratios` at level `1 - alpha`, valid at any stopping time.
///
/// `None` for fewer than two values, and if one of them is not finite. Unbounded below [`Unit::first`], and if `alpha`
/// is not between 0 and 1. The interval is not intersected with earlier ones: it is a function of the set of blocks, and
/// three blocks that are similar by chance cannot determine the outcome of the run.
#[must_use]
pub fn confidence_sequence(log_ratios: &[f64], unit: Unit, alpha: f64) -> Option<Interval> {
    Summary::new(log_ratios, unit).filter(|summary| summary.count >= 2).map(|summary| summary.interval(alpha))
}

/// Summary statistics for the interval and the p-value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    pub(super) unit: Unit,
    pub(super) count: usize,
    pub(super) mean: f64,
    /// The sample standard deviation, not below [`DEVIATION_FLOOR`].
    pub(super) deviation: f64,
}

impl Summary {
    /// `None` without values or if one is not finite.
    pub(super) fn new(values: &[f64], unit: Unit) -> Option<Self> {
        let count = values.len();
        if count == 0 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count.max(2) - 1) as f64).sqrt().max(DEVIATION_FLOOR);
        Some(Self { unit, count, mean, deviation })
    }

    pub(super) fn interval(&self, alpha: f64) -> Interval {
        let half_width = half_width(self.unit, self.count, self.deviation, alpha);
        Interval { estimate: self.mean, low: self.mean - half_width, high: self.mean + half_width }
    }

    /// The least alpha at which `mean` lies outside the interval: the inverse of [`half_width`].
    pub(super) fn p_value(&self, mean: f64) -> f64 {
        let first = self.unit.first();
        if self.count < first || !mean.is_finite() {
            return 1.0;
        }
        let n = self.count as f64;
        // t^2 / (n - 1), with the deviation on n - 1 degrees of freedom.
        let excess = n * ((self.mean - mean) / self.deviation).powi(2) / (n - 1.0);
        let log_m = f64::midpoint(n * excess.ln_1p(), -n.ln());
        bound(first, t_at_first(first, log_m))
    }
}

/// Half-width of the interval for `count` values with this sample deviation.
pub(super) fn half_width(unit: Unit, count: usize, deviation: f64, alpha: f64) -> f64 {
    let first = unit.first();
    if count < first || !(alpha > 0.0 && alpha < 1.0) {
        return f64::INFINITY;
    }
    let (m, n) = (first as f64, count as f64);
    let a = critical(first, alpha);
    let log_c = f64::midpoint(m * (a * a / (m - 1.0)).ln_1p(), -m.ln());
    let excess = f64::exp_m1((2.0 * log_c + n.ln()) / n);
    deviation * ((n - 1.0) / n * excess).sqrt()
}

/// The |t| of the first `m` values at which M(m) has this value; 0 if the value is below the minimum of M(m).
fn t_at_first(first: usize, log_m: f64) -> f64 {
    let m = first as f64;
    ((m - 1.0) * f64::exp_m1((2.0 * log_m + m.ln()) / m).max(0.0)).sqrt()
}

/// Probability that M ever reaches its value at |t| = `a` of the first `m` values: 2 (1 - F(a)) + 2 a f(a).
fn bound(first: usize, a: f64) -> f64 {
    let freedom = (first - 1) as f64;
    if !a.is_finite() {
        return 0.0;
    }
    // As an incomplete beta function, 2 (1 - F(a)) keeps its digits where it is tiny.
    let tail = beta_reg(freedom / 2.0, 0.5, freedom / (freedom + a * a));
    let density = StudentsT::new(0.0, 1.0, freedom).map_or(0.0, |t| t.pdf(a));
    (tail + 2.0 * a * density).min(1.0)
}

/// The |t| of the first `m` values whose [`bound`] is alpha, by Newton's method in logarithms, where the tail of Student's
/// t is nearly a straight line.
fn critical(first: usize, alpha: f64) -> f64 {
    let freedom = (first - 1) as f64;
    let mut a = 1.0f64;
    for _ in 0..NEWTON_STEPS {
        let value = bound(first, a);
        let density = StudentsT::new(0.0, 1.0, freedom).map_or(0.0, |t| t.pdf(a));
        // d bound / da = 2 a f'(a) = -2 a^2 f(a) (m / (m - 1 + a^2)).
        let slope = 2.0 * a.powi(3) * density * (freedom + 1.0) / (freedom + a * a) / value;
        let step = (value / alpha).ln() / slope;
        a *= step.clamp(-1.0, 3.0).exp();
        if step.abs() < 1e-14 {
            break;
        }
    }
    a
}

/// Upper bound; convergence takes a few steps.
const NEWTON_STEPS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_match_the_table() {
        let table = [(3, 4.38), (4, 3.08), (5, 2.45), (6, 2.07), (8, 1.63), (12, 1.22), (20, 0.89)];
        for (count, expected) in table {
            assert!((half_width(Unit::Block, count, 1.0, 0.05) - expected).abs() < 0.006, "{count}");
        }
        assert_eq!(half_width(Unit::Block, 2, 1.0, 0.05), f64::INFINITY);
        for (count, expected) in [(6, 2.94), (8, 2.18), (10, 1.78), (12, 1.53), (20, 1.07), (30, 0.83)] {
            let found = half_width(Unit::Session, count, 1.0, 0.05 / 11.0);
            assert!((found - expected).abs() < 0.006, "{count} {found}");
        }
        assert_eq!(half_width(Unit::Session, 5, 1.0, 0.05), f64::INFINITY);
    }

    /// Compares the closed form with the definition: alpha = 2 (1 - F(a)) + 2 a f(a) with two degrees of freedom.
    #[test]
    fn the_bound_at_three_blocks_matches_lai() {
        for alpha in [0.5, 0.05, 0.00625, 1e-6] {
            let a = half_width(Unit::Block, 3, 1.0, alpha) * 3f64.sqrt();
            let tail = 1.0 - a / (2.0 + a * a).sqrt();
            let density = (2.0 + a * a).powf(-1.5);
            assert!((tail + 2.0 * a * density - alpha).abs() < 1e-9 * alpha.max(1e-6), "{alpha}");
        }
    }

    #[test]
    fn the_p_value_is_the_alpha_of_the_interval_that_ends_there() {
        for (unit, count) in [
            (Unit::Block, 3),
            (Unit::Block, 4),
            (Unit::Session, 6),
            (Unit::Session, 7),
            (Unit::Block, 30),
            (Unit::Session, 400),
        ] {
            for alpha in [0.2, 0.05, 0.006, 1e-9] {
                let end = half_width(unit, count, 0.03, alpha);
                let p = Summary { unit, count, mean: 0.4, deviation: 0.03 }.p_value(0.4 - end);
                assert!((p / alpha - 1.0).abs() < 1e-6, "{count} {alpha} {p}");
            }
        }
    }

    #[test]
    fn invalid_input_gives_no_interval() {
        assert_eq!(confidence_sequence(&[], Unit::Block, 0.05), None);
        assert_eq!(confidence_sequence(&[0.1], Unit::Block, 0.05), None);
        assert_eq!(confidence_sequence(&[0.1, f64::NAN, 0.1], Unit::Block, 0.05), None);
        assert_eq!(confidence_sequence(&[0.1, f64::INFINITY, 0.1], Unit::Block, 0.05), None);
        let two = confidence_sequence(&[0.1, 0.1], Unit::Block, 0.05).unwrap();
        assert_eq!((two.low, two.high), (f64::NEG_INFINITY, f64::INFINITY));
        for alpha in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(confidence_sequence(&[0.1; 5], Unit::Block, alpha).unwrap().high, f64::INFINITY);
        }
        let far = Summary::new(&[700.0; 1000], Unit::Block).unwrap();
        assert_eq!(far.p_value(0.0), 0.0);
    }

    #[test]
    fn equal_values_have_the_minimum_deviation() {
        let interval = confidence_sequence(&[0.0; 3], Unit::Block, 0.05).unwrap();
        assert!(interval.high > 4e-4 && interval.high < 5e-4, "{interval:?}");
    }
}
