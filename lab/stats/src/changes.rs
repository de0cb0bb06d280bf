//! Where a series changed: one figure of one contender, run after run.
//!
//! | does | does not |
//! |---|---|
//! | say after which value the mean moved, by how much, and when that was sure | say why |
//! | keep its error level however often the series is looked at while it grows | look for a changed spread, or a slow drift |
//!
//! # The method
//!
//! The model: independent Gaussian values with one unknown deviation, and one mean up to a change. For a supposed change after
//! value k, the values up to n are weighed by a Bayes factor: two means against one, where the step, in deviations, is Gaussian
//! with mean 0 and variance g, and mean and deviation have the flat priors of location and scale. It is a function of Student's
//! two-sample t alone (Gönen, Johnson, Lu and Westfall 2005, "The Bayesian two-sample t test", The American Statistician 59(3)):
//!
//! ```text
//! B = (1 + G)^(-1/2) ((1 + t^2 / v) / (1 + t^2 / (v (1 + G))))^((v + 1) / 2),   v = n - 2,   G = g k (n - k) / n
//! ```
//!
//! With these priors B is a martingale of the values seen so far, if there was no change, whatever mean and deviation are
//! (Pérez-Ortiz, Lardy, de Heide and Grünwald 2024, "E-statistics, group invariance and anytime-valid testing", Annals of
//! Statistics 52(4)); so is a weighted sum of such over all k, and over several g. Ville's inequality bounds the chance that the
//! sum ever reaches 1 / alpha: a series that never changes gets a false alarm in its whole life with probability alpha at the
//! most, though it is looked at after every run. Where the sum reaches it, the change is put where B is greatest, and what comes
//! after it is a new series, with the same alpha.
//!
//! Terms with fewer than [`LEAST`] values on a side are left out, which only lowers the sum: one odd run is no change.
//! Outside the model the rate is not kept; `synthetic_changes.rs` measures how far it is off.

use super::sequence::{DEVIATION_FLOOR, Interval};

/// Values on each side of a change.
pub const LEAST: usize = 2;
/// Variances of the step, in those of the noise, with equal weights: from steps as small as the noise to thirty times as large.
const SPREADS: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];

/// A change of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value after it.
    pub at: usize,
    /// After how many values it was sure.
    pub sure_after: usize,
    /// The mean after it, up to the next change or the end, less the mean before it, from the last change or the begin. The
    /// interval is for a change known to be here: that its place was searched for is not in it.
    pub step: Interval,
}

/// The changes of a series, in order, each with error level `alpha`; of those, the ones whose step is beyond `margin`.
///
/// Values that are not finite make the series end before the first of them.
#[must_use]
pub fn changes(values: &[f64], alpha: f64, margin: f64) -> Vec<Change> {
    let end = values.iter().position(|v| !v.is_finite()).unwrap_or(values.len());
    let series = Sums::of(&values[..end]);
    let mut found = Vec::new();
    let mut begin = 0;
    while let Some((at, sure_after)) = first_change(&series, begin, alpha) {
        found.push((at, sure_after));
        begin = at;
    }
    // What came later says more of where each was.
    for i in 0..found.len() {
        let before = if i == 0 { 0 } else { found[i - 1].0 };
        let after = found.get(i + 1).map_or(end, |next| next.0);
        found[i].0 = likeliest(&series, before, after).unwrap_or(found[i].0);
    }
    let bounds = |i: usize| if i == 0 { 0 } else { found[i - 1].0 };
    let change = |(i, &(at, sure_after)): (usize, &(usize, usize))| {
        let after = found.get(i + 1).map_or(end, |next| next.0);
        let step = series.split(bounds(i), at, after).interval(alpha);
        Change { at, sure_after, step }
    };
    found.iter().enumerate().map(change).filter(|c| c.step.estimate.abs() > margin).collect()
}

/// Where the values from `begin` on first changed, and after how many values of the series that is sure.
fn first_change(series: &Sums, begin: usize, alpha: f64) -> Option<(usize, usize)> {
    (begin + 2 * LEAST..=series.count()).find_map(|end| {
        let log_terms: Vec<f64> = splits(begin, end)
            .map(|at| {
                let k = (at - begin) as f64;
                // 1 / (k (k - 1)): these sum up to 1 over all k from 2 on.
                series.split(begin, at, end).log_factor() - (k * (k - 1.0)).ln()
            })
            .collect();
        let is_sure = log_sum(&log_terms) >= -alpha.ln();
        is_sure.then(|| likeliest(series, begin, end)).flatten().map(|at| (at, end))
    })
}

/// The places where a change may be.
fn splits(begin: usize, end: usize) -> std::ops::RangeInclusive<usize> {
    begin + LEAST..=end.saturating_sub(LEAST)
}

fn likeliest(series: &Sums, begin: usize, end: usize) -> Option<usize> {
    let weight = |at: usize| series.split(begin, at, end).log_factor();
    splits(begin, end).max_by(|a, b| weight(*a).total_cmp(&weight(*b)))
}

/// ln of the sum of exp.
fn log_sum(terms: &[f64]) -> f64 {
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most.is_finite() { most + terms.iter().map(|t| (t - most).exp()).sum::<f64>().ln() } else { most }
}

/// Sums of the values and of their squares up to each index.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    /// Of the values less the first, which keeps the digits of the squares.
    fn of(values: &[f64]) -> Sums {
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

    /// Count, mean and the sum of the squared distances from it.
    fn part(&self, begin: usize, end: usize) -> (f64, f64, f64) {
        let n = (end - begin) as f64;
        let (sum, squares) = (self.0[end].0 - self.0[begin].0, self.0[end].1 - self.0[begin].1);
        (n, sum / n, (squares - sum * sum / n).max(0.0))
    }

    fn split(&self, begin: usize, at: usize, end: usize) -> Split {
        let ((before, low, left), (after, high, right)) = (self.part(begin, at), self.part(at, end));
        let freedom = before + after - 2.0;
        // The floor only makes t smaller.
        let variance = (left + right) / freedom + DEVIATION_FLOOR * DEVIATION_FLOOR;
        let weight = before * after / (before + after);
        Split { step: high - low, error: (variance / weight).sqrt(), freedom, weight }
    }
}

/// A series cut in two: the difference of the means, its standard error, the degrees of freedom, and k (n - k) / n.
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

    /// ln B, at this t.
    fn log_factor_at(&self, t: f64) -> f64 {
        let x = t * t / self.freedom;
        let most = x.ln_1p();
        let of = |spread: f64| {
            let g = spread * self.weight;
            let gain = most - (x / (1.0 + g)).ln_1p();
            f64::midpoint((self.freedom + 1.0) * gain, -g.ln_1p())
        };
        log_sum(&SPREADS.map(of)) - (SPREADS.len() as f64).ln()
    }

    /// The steps that the values do not speak against as strongly as 1 / alpha.
    fn interval(&self, alpha: f64) -> Interval {
        const T_MAX: f64 = 1e6;
        let speaks_against = |t: f64| self.log_factor_at(t) >= -alpha.ln();
        let reach = if speaks_against(T_MAX) {
            let (mut low, mut high) = (0.0, T_MAX);
            // Halved until it is exact.
            for _ in 0..100 {
                let middle = f64::midpoint(low, high);
                if speaks_against(middle) { high = middle } else { low = middle }
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

    /// Small noise without chance: -1, 0, 1, -1, .. parts in a thousand.
    fn steps(levels: &[(usize, f64)]) -> Vec<f64> {
        let each = |(count, level): &(usize, f64)| vec![*level; *count];
        let wobble = |(i, level): (usize, f64)| level + ((i * 7 % 3) as f64 - 1.0) * 1e-3;
        levels.iter().flat_map(each).enumerate().map(wobble).collect()
    }

    #[test]
    fn plain_steps_are_found_where_they_are() {
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
    fn a_step_has_its_size_and_the_time_from_which_it_was_sure() {
        let found = changes(&steps(&[(8, 0.0), (8, 0.1)]), 0.05, 0.0);
        let [change] = found[..] else { panic!("{found:?}") };
        assert!((change.step.estimate - 0.1).abs() < 1e-3, "{change:?}");
        assert!(change.step.low > 0.09 && change.step.high < 0.11, "{change:?}");
        assert!((10..=12).contains(&change.sure_after), "{change:?}");
    }

    #[test]
    fn what_is_within_the_margin_is_not_told() {
        let values = steps(&[(20, 0.0), (20, 0.01)]);
        assert_eq!(changes(&values, 0.05, 0.0).len(), 1);
        assert_eq!(changes(&values, 0.05, 0.02), []);
    }

    #[test]
    fn odd_values_make_no_claim_and_no_panic() {
        assert_eq!(changes(&[0.0; 50], 0.05, 0.0), [], "equal values have the floor as their noise");
        assert_eq!(changes(&[0.0, 0.0, f64::NAN, 9.0, 9.0], 0.05, 0.0), []);
        assert_eq!(changes(&[f64::INFINITY; 9], 0.05, 0.0), []);
        let (low, high) = (steps(&[(3, 0.0)]), steps(&[(3, 700.0)]));
        assert_eq!(changes(&[low, high].concat(), 0.05, 0.0)[0].at, 3);
        assert!(changes(&[1.0, 2.0, 1.0, 2.0], 1e-9, 0.0).is_empty());
    }

    /// The factor against its definition: the likelihoods of both models with mean and deviation integrated out, on a grid.
    #[test]
    fn the_factor_is_that_of_its_priors() {
        let (before, after) = ([0.3, -0.2, 0.1], [1.1, 1.6]);
        let values = [&before[..], &after].concat();
        // With the step a multiple of sigma, mean and sigma integrate in closed form up to a constant: SS^(-(n-1)/2).
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
        let split = Sums::of(&values).split(0, 3, 5);
        let x = (split.step / split.error).powi(2) / split.freedom;
        let g = spread * split.weight;
        let closed = ((1.0 + x) / (1.0 + x / (1.0 + g))).powf(2.0) / (1.0 + g).sqrt();
        assert!((mixed / marginal(0.0) / closed - 1.0).abs() < 0.01, "{} {closed}", mixed / marginal(0.0));
    }
}
