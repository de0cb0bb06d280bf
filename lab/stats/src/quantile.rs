//! Quantiles of a plain list.

/// The `q`-quantile of `values` by nearest rank: the smallest value that at least `q` of all values do not
/// exceed (type 1 of Hyndman and Fan 1996, "Sample quantiles in statistical packages", The American
/// Statistician 50(4)).
///
/// It is always a value that was observed, never one between two. `None` for an empty list or if `q` is not
/// between 0 and 1.
#[must_use]
pub fn quantile(values: &[u64], q: f64) -> Option<u64> {
    if values.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    // 0.07 * 100 is a little more than 7 in binary; that must not make it rank 8.
    const ROUNDING: f64 = 1e-9;
    let exact = q * values.len() as f64;
    let rank = (exact * (1.0 - ROUNDING)).ceil() as usize;
    let index = rank.clamp(1, values.len()) - 1;
    let mut scratch = values.to_vec();
    Some(*scratch.select_nth_unstable(index).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let hundred: Vec<u64> = (1..=100).rev().collect();
        for percent in 1..=100 {
            assert_eq!(quantile(&hundred, percent as f64 / 100.0), Some(percent));
        }
        assert_eq!(quantile(&hundred, 0.0), Some(1));
        assert_eq!(quantile(&hundred, 0.501), Some(51));
        assert_eq!(quantile(&[7], 0.999), Some(7));
        assert_eq!(quantile(&[9, 1, 5], 0.5), Some(5));
    }

    #[test]
    fn invalid_input_has_no_quantile() {
        assert_eq!(quantile(&[], 0.5), None);
        for q in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(quantile(&[1, 2], q), None);
        }
    }
}
