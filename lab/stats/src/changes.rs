//! Change points of a series: one ratio of one contender, run after run.
//!
//! | does | does not |
//! |---|---|
//! | find changes of the mean, their size, and when they became significant | find causes |
//! | keep its error level however often the growing series is tested | find changes of variance, or slow drift |
//!
//! # The method
//!
//! The model: independent Gaussian values with an unknown constant deviation, and a mean that is constant up to a
//! change. For a candidate change after value k, a Bayes factor compares two means with one for the values up to n.
//! The prior of the step, in deviations, is Gaussian with mean 0 and variance g; mean and deviation have the flat
//! priors of location and scale. The factor is a function of Student's two-sample t alone (Gönen, Johnson, Lu and
//! Westfall 2005, "The Bayesian two-sample t test", The American Statistician 59(3)):
//!
//! ```text
//! B = (1 + G)^(-1/2) ((1 + t^2 / v) / (1 + t^2 / (v (1 + G))))^((v + 1) / 2),   v = n - 2,   G = g k (n - k) / n
//! ```
//!
//! With these priors, B is a martingale of the values seen so far if there was no change, whatever mean and deviation
//! are (Pérez-Ortiz, Lardy, de Heide and Grünwald 2024, "E-statistics, group invariance and anytime-valid testing",
//! Annals of Statistics 52(4)). So is a weighted sum over all k and several g. By Ville's inequality, the probability
//! that the sum ever reaches 1 / alpha is at most alpha. A series without a change therefore has a false alarm with
//! probability at most alpha, although it is tested after every run. When the sum reaches 1 / alpha, the change is
//! placed where B is greatest, and a new series with the same alpha begins there.
//!
//! Terms with fewer than [`LEAST`] values on a side are omitted, which only lowers the sum: a single outlier is no
//! change. Outside the model the error level does not hold; the tests measure the deviation.

use super::sequence::{DEVIATION_FLOOR, Interval};

/// Minimum number of values on each side of a change.
pub const LEAST: usize = 2;
/// Prior variances of the step, relative to the noise, equally weighted: steps from the size of the noise to 30 times
/// its size.
const SPREADS: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];

/// A change of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value after the change.
    pub at: usize,
    /// Number of values after which the change was significant.
    pub sure_after: usize,
    /// Difference between the mean up to the next change and the mean since the previous one. The interval assumes
    /// that the position of the change is known.
    pub step: Interval,
}

/// Finds the changes of a series, in order, each at error level `alpha`. Changes within `margin` are omitted.
///
/// The series ends before the first value that is not finite.
#[must_use]
pub fn changes(values: &[f64], alpha: f64, margin: f64) -> Vec<Change> {
    let end = values.iter().position(|v| !v.is_finite()).unwrap_or(values.len());
    let series = Sums::new(&values[..end]);
    let mut found = Vec::new();
    let mut begin = 0;
    while let Some((at, sure_after)) = first_change(&series, begin, alpha) {
        found.push((at, sure_after));
        begin = at;
    }
    let bounds = |found: &[(usize, usize)], i: usize| {
        (if i == 0 { 0 } else { found[i - 1].0 }, found.get(i + 1).map_or(end, |next| next.0))
    };
    // Later values refine the positions.
    for i in 0..found.len() {
        let (before, after) = bounds(&found, i);
        found[i].0 = likeliest(&series, before, after).unwrap_or(found[i].0);
    }
    let change = |(i, &(at, sure_after)): (usize, &(usize, usize))| {
        let (before, after) = bounds(&found, i);
        Change { at, sure_after, step: series.split(before, at, after).interval(alpha) }
    };
    found.iter().enumerate().map(change).filter(|c| c.step.estimate.abs() > margin).collect()
}

/// Finds the first change after `begin`, and the number of values after which it is significant.
fn first_change(series: &Sums, begin: usize, alpha: f64) -> Option<(usize, usize)> {
    (begin + 2 * LEAST..=series.count()).find_map(|end| {
        let log_terms: Vec<f64> = splits(begin, end)
            .map(|at| {
                let k = (at - begin) as f64;
                // The weights 1 / (k (k - 1)) sum to 1 over all k from 2.
                series.split(begin, at, end).log_factor() - (k * (k - 1.0)).ln()
            })
            .collect();
        let is_significant = log_sum(&log_terms) >= -alpha.ln();
        is_significant.then(|| likeliest(series, begin, end)).flatten().map(|at| (at, end))
    })
}

/// Candidate positions of a change.
fn splits(begin: usize, end: usize) -> std::ops::RangeInclusive<usize> {
    begin + LEAST..=end.saturating_sub(LEAST)
}

fn likeliest(series: &Sums, begin: usize, end: usize) -> Option<usize> {
    let weight = |at: usize| series.split(begin, at, end).log_factor();
    splits(begin, end).max_by(|a, b| weight(*a).total_cmp(&weight(*b)))
}

/// Logarithm of a sum of exponentials.
fn log_sum(terms: &[f64]) -> f64 {
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most.is_finite() { most + terms.iter().map(|t| (t - most).exp()).sum::<f64>().ln() } else { most }
}

/// Prefix sums of the values and of their squares.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    /// Subtracts the first value, which preserves the precision of the squares.
    fn new(values: &[f64]) -> Sums {
        let first = values.first().copied().unwrap_or(0.0);
        let add = |sums: &mut (f64, f64), value: &f64| {
            let value = value - first;
            *sums = (sums.0 + value, sums.1 + value * value);
            Some(*sums)
        };
        Sums(std::iter::once((0.0, 0.0)).chain(values.iter().scan((0.0, 0.0), add)).collect())
    }

    fn count(&self) -> usize {
        self.0.len() - 1
    }

    /// Count, mean, and sum of squared deviations of a range.
    fn part(&self, begin: usize, end: usize) -> (f64, f64, f64) {
        let n = (end - begin) as f64;
        let (sum, squares) = (self.0[end].0 - self.0[begin].0, self.0[end].1 - self.0[begin].1);
        (n, sum / n, (squares - sum * sum / n).max(0.0))
    }

    fn split(&self, begin: usize, at: usize, end: usize) -> Split {
        let ((before, low, left), (after, high, right)) = (self.part(begin, at), self.part(at, end));
        let freedom = before + after - 2.0;
        // The floor only reduces t.
        let variance = (left + right) / freedom + DEVIATION_FLOOR * DEVIATION_FLOOR;
        let weight = before * after / (before + after);
        Split { step: high - low, error: (variance / weight).sqrt(), freedom, weight }
    }
}

/// A series split in two: difference of the means, its standard error, degrees of freedom, and k (n - k) / n.
struct Split {
    step: f64,
    error: f64,
    freedom: f64,
    weight: f64,
}

impl Split {
    fn log_factor(&self) -> f64 {
        self.log_factor_at(self.step / self.error)
    }

    /// ln B at a given t.
    fn log_factor_at(&self, t: f64) -> f64 {
        let x = t * t / self.freedom;
        let most = x.ln_1p();
        let log_factor = |spread: f64| {
            let g = spread * self.weight;
            let gain = most - (x / (1.0 + g)).ln_1p();
            f64::midpoint((self.freedom + 1.0) * gain, -g.ln_1p())
        };
        log_sum(&SPREADS.map(log_factor)) - (SPREADS.len() as f64).ln()
    }

    /// The steps against which the evidence is less than 1 / alpha.
    fn interval(&self, alpha: f64) -> Interval {
        const T_MAX: f64 = 1e6;
        let is_rejected = |t: f64| self.log_factor_at(t) >= -alpha.ln();
        let reach = if is_rejected(T_MAX) {
            let (mut low, mut high) = (0.0, T_MAX);
            // Bisection to the last digit.
            for _ in 0..100 {
                let middle = f64::midpoint(low, high);
                if is_rejected(middle) { high = middle } else { low = middle }
            }
            high * self.error
        } else {
            f64::INFINITY
        };
        Interval { estimate: self.step, low: self.step - reach, high: self.step + reach }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic noise: -1, 0, 1, -1, .. parts in a thousand.
    fn steps(levels: &[(usize, f64)]) -> Vec<f64> {
        let each = |(count, level): &(usize, f64)| vec![*level; *count];
        let wobble = |(i, level): (usize, f64)| level + ((i * 7 % 3) as f64 - 1.0) * 1e-3;
        levels.iter().flat_map(each).enumerate().map(wobble).collect()
    }

    #[test]
    fn steps_are_located() {
        let check = |levels: &[(usize, f64)], wanted: &[usize]| {
            let found = changes(&steps(levels), 0.05, 0.0);
            assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), wanted, "{levels:?}: {found:?}");
        };
        check(&[(30, 0.4)], &[]);
        check(&[(5, 0.0), (5, 0.1)], &[5]);
        check(&[(4, 0.0), (9, -0.1), (5, 0.3)], &[4, 13]);
        check(&[(20, 0.0), (1, 0.5), (20, 0.0)], &[]);
        check(&[(1, 0.0)], &[]);
        check(&[], &[]);
    }

    #[test]
    fn a_step_has_its_size_and_the_time_of_its_significance() {
        let found = changes(&steps(&[(8, 0.0), (8, 0.1)]), 0.05, 0.0);
        let [change] = found[..] else { panic!("{found:?}") };
        assert!((change.step.estimate - 0.1).abs() < 1e-3, "{change:?}");
        assert!(change.step.low > 0.09 && change.step.high < 0.11, "{change:?}");
        assert!((10..=12).contains(&change.sure_after), "{change:?}");
    }

    #[test]
    fn changes_within_the_margin_are_omitted() {
        let values = steps(&[(20, 0.0), (20, 0.01)]);
        assert_eq!(changes(&values, 0.05, 0.0).len(), 1);
        assert_eq!(changes(&values, 0.05, 0.02), []);
    }

    #[test]
    fn invalid_values_give_no_change() {
        assert_eq!(changes(&[0.0; 50], 0.05, 0.0), [], "equal values have the minimum deviation");
        assert_eq!(changes(&[0.0, 0.0, f64::NAN, 9.0, 9.0], 0.05, 0.0), []);
        assert_eq!(changes(&[f64::INFINITY; 9], 0.05, 0.0), []);
        let (low, high) = (steps(&[(3, 0.0)]), steps(&[(3, 700.0)]));
        assert_eq!(changes(&[low, high].concat(), 0.05, 0.0)[0].at, 3);
        assert!(changes(&[1.0, 2.0, 1.0, 2.0], 1e-9, 0.0).is_empty());
    }

    /// Compares the factor with its definition: the likelihoods of both models, integrated over mean and deviation on a grid.
    #[test]
    fn the_factor_matches_its_definition() {
        let (before, after) = ([0.3, -0.2, 0.1], [1.1, 1.6]);
        let values = [&before[..], &after].concat();
        // If the step is a multiple of sigma, the integral over mean and sigma is SS^(-(n-1)/2) up to a constant.
        let marginal = |delta_in_sigma: f64| {
            let mut total = 0.0;
            for i in 1..4000 {
                let sigma = f64::from(i) * 0.005;
                let shifted: Vec<f64> =
                    before.iter().copied().chain(after.iter().map(|v| v - delta_in_sigma * sigma)).collect();
                let n = shifted.len() as f64;
                let mean = shifted.iter().sum::<f64>() / n;
                let squares: f64 = shifted.iter().map(|v| (v - mean).powi(2)).sum();
                total += (-squares / (2.0 * sigma * sigma)).exp() / sigma.powf(n) * 0.005;
            }
            total
        };
        let spread = 10.0f64;
        let step = 0.05;
        let mixed: f64 = (-400..=400)
            .map(|i| {
                let delta = f64::from(i) * step;
                let prior = (-delta * delta / (2.0 * spread)).exp() / (std::f64::consts::TAU * spread).sqrt();
                prior * marginal(delta) * step
            })
            .sum();
        let split = Sums::new(&values).split(0, 3, 5);
        let x = (split.step / split.error).powi(2) / split.freedom;
        let g = spread * split.weight;
        let closed = ((1.0 + x) / (1.0 + x / (1.0 + g))).powf(2.0) / (1.0 + g).sqrt();
        assert!((mixed / marginal(0.0) / closed - 1.0).abs() < 0.01, "{} {closed}", mixed / marginal(0.0));
    }
}
