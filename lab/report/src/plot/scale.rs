//! Axes with round tick labels.

use super::ranking::{Kind, Ranking};

/// Minimum distance between tick labels.
const TICK_STEP: f64 = 42.0;
/// Maximum factor by which intervals widen the axis on each side. Beyond it they end in arrows.
const WIDEN_MOST: f64 = 2.5;

/// Logarithmic axis from one position to another, which may be less.
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) begin: f64,
    pub(super) end: f64,
}

impl Scale {
    /// Horizontal axis of a ranking.
    pub(super) fn new(ranking: &Ranking, begin: f64, end: f64) -> Scale {
        let rows = ranking.rows.iter().filter(|r| r.kind != Kind::Ceiling).filter_map(|r| r.at);
        let baseline = ranking.unit.is_none().then_some(1.0);
        let references = ranking.rows.iter().filter_map(|r| r.reference);
        let places = rows.chain(ranking.ceiling).chain(baseline).chain(references);
        let (low, high) = places.fold((f64::INFINITY, 0.0), |(a, b), v| (v.min(a), v.max(b)));
        let ranges = || ranking.rows.iter().filter_map(|r| r.range);
        let least = ranges().filter_map(|r| r.0).fold(low, f64::min).max(low / WIDEN_MOST);
        let most = ranges().filter_map(|r| r.1).fold(high, f64::max).min(high * WIDEN_MOST);
        // Padding, and a minimum span so that noise is not magnified.
        let padding = (most / least).powf(0.04).max(1.05);
        Scale { low: least / padding, high: most * padding, begin, end }
    }

    /// Position of a value, within the axis.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.begin + share.clamp(0.0, 1.0) * (self.end - self.begin)
    }

    pub(super) fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// As many round values as fit without overlapping labels.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let steps: [(&[f64], usize); 6] =
            [(&[1.0, 2.0, 5.0], 1), (&[1.0, 3.0], 1), (&[1.0], 1), (&[1.0], 2), (&[1.0], 4), (&[1.0], 8)];
        let even = (self.high / self.low < 3.0).then(|| even(self.low, self.high));
        let values = |(steps, every)| round_values(self.low, self.high, steps, every);
        let fits = |t: &Vec<f64>| t.windows(2).all(|w| self.at(w[1]) - self.at(w[0]) >= TICK_STEP);
        even.into_iter().chain(steps.map(values)).find(fits).unwrap_or_default()
    }
}

/// About four equal steps, for a range of less than a decade.
pub(super) fn even(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 4.0;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].iter().map(|s| s * decade).find(|s| *s >= rough).unwrap_or(rough);
    let first = (low / step).ceil() as u32;
    (first..first + 10).map(|i| f64::from(i) * step).filter(|v| (low..=high).contains(v)).collect()
}

/// Round values within a range: 1, 2 and 5 of each decade, or only powers of ten if there are many decades.
pub(super) fn decades(low: f64, high: f64) -> Vec<f64> {
    const MANY_DECADES: f64 = 4.0;
    let steps: &[f64] = if (high / low).log10() > MANY_DECADES { &[1.0] } else { &[1.0, 2.0, 5.0] };
    round_values(low, high, steps, 1)
}

/// The multiples `steps` of every `every`th power of ten, within a range.
fn round_values(low: f64, high: f64, steps: &[f64], every: usize) -> Vec<f64> {
    let decades = (low.log10().floor() as i32..=high.log10().ceil() as i32).step_by(every);
    let values = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    values.filter(|v| (low..=high).contains(v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_range_are_round() {
        for (low, high, wanted) in [
            (11.5, 91.0, &[20.0, 50.0][..]),
            (15.0, 40.0, &[20.0]),
            (0.9, 11.0, &[1.0, 2.0, 5.0, 10.0]),
            (1e3, 1e8, &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8]),
        ] {
            let found = decades(low, high);
            assert_eq!(found.len(), wanted.len(), "{low} {high}: {found:?}");
            assert!(found.iter().zip(wanted).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{found:?}");
        }
    }

    #[test]
    fn ticks_of_an_axis_are_round_and_do_not_overlap() {
        for (low, high, wanted) in [
            (0.04, 12.0, &[0.1, 0.3, 1.0, 3.0, 10.0][..]),
            (0.4, 6.0, &[0.5, 1.0, 2.0, 5.0]),
            (0.97, 1.21, &[1.0, 1.1, 1.2]),
            (1e-4, 1e4, &[1e-4, 1e-2, 1.0, 100.0, 1e4]),
        ] {
            let found = Scale { low, high, begin: 250.0, end: 538.0 }.ticks();
            assert_eq!(found.len(), wanted.len(), "{low} {high}: {found:?}");
            assert!(found.iter().zip(wanted).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{found:?}");
        }
    }
}
