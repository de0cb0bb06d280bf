//! Ranks by Zipf's law: rank k = 1, 2, .. has the weight k^-s. The distribution is exact and takes one or two random numbers.
//!
//! The ranks are divided into blocks whose width grows with the rank, so that the weights within a block are almost equal.
//! Walker's alias method chooses a block, as if all of its ranks had the weight of the first. A rank of the block is chosen
//! uniformly and accepted with the ratio of its weight to that of the first; otherwise, the choice is repeated. More than 99 %
//! are accepted.

/// The exponent s.
const EXPONENT: f64 = 0.99;
/// A block that starts at rank k has the width k / 64, so the weights in it differ by at most 1.6 %.
const RANKS_PER_WIDTH: u64 = 64;
const ONE: f64 = (1u64 << 32) as f64;

/// Chooses ranks below a limit.
#[derive(Debug)]
pub struct Zipf {
    columns: Box<[Column]>,
}

/// A block with its column of the alias table.
#[derive(Debug, Clone, Copy)]
struct Column {
    /// First rank of the block, from 1.
    first: u32,
    width: u32,
    /// How many of 2^32 random numbers accept any rank of the block.
    sure: u32,
    /// How many of 2^32 random numbers choose this block; the others choose the block `alias`.
    own: u32,
    alias: u32,
}

impl Zipf {
    /// Creates the distribution of the ranks 1 .. `ranks`; at least one, and below 2^32.
    pub fn new(ranks: u64) -> Self {
        let mut columns = Vec::new();
        let mut first = 1;
        while first <= ranks {
            let width = (first / RANKS_PER_WIDTH).clamp(1, ranks - first + 1);
            let sure = weight(first + width - 1) / weight(first);
            // The cast saturates: 1 becomes the maximum.
            let sure = (sure * ONE) as u32;
            columns.push(Column { first: first as u32, width: width as u32, sure, own: u32::MAX, alias: 0 });
            first += width;
        }
        alias(&mut columns);
        Self { columns: columns.into() }
    }

    /// Returns a rank, from 1. `random` returns 64 random bits.
    #[inline]
    pub fn rank(&self, mut random: impl FnMut() -> u64) -> u64 {
        loop {
            let bits = random();
            let mut column = &self.columns[part(bits, self.columns.len() as u64) as usize];
            if (bits >> 32) as u32 > column.own {
                column = &self.columns[column.alias as usize];
            }
            if column.width == 1 {
                return column.first.into();
            }
            let bits = random();
            let rank = u64::from(column.first) + part(bits, column.width.into());
            let kept = (bits >> 32) as u32;
            if kept < column.sure || f64::from(kept) < weight(rank) / weight(column.first.into()) * ONE {
                return rank;
            }
        }
    }
}

/// Maps the low half of the bits to a uniform choice below `of`.
fn part(bits: u64, of: u64) -> u64 {
    ((bits & 0xffff_ffff) * of) >> 32
}

fn weight(rank: u64) -> f64 {
    (rank as f64).powf(-EXPONENT)
}

/// Builds Walker's alias table: columns of equal height with one or two blocks each.
fn alias(columns: &mut [Column]) {
    let masses: Vec<f64> =
        columns.iter().map(|column| f64::from(column.width) * weight(column.first.into())).collect();
    let mean = masses.iter().sum::<f64>() / masses.len() as f64;
    let mut left: Vec<f64> = masses.iter().map(|mass| mass / mean).collect();
    let (mut low, mut high): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|i| left[*i] < 1.0);
    while let (Some(short), Some(tall)) = (low.pop(), high.last().copied()) {
        columns[short].own = (left[short] * ONE) as u32;
        columns[short].alias = tall as u32;
        left[tall] -= 1.0 - left[short];
        if left[tall] < 1.0 {
            high.pop();
            low.push(tall);
        }
    }
}

#[cfg(test)]
mod tests {
    use netdyno_contender::kv::split_mix;

    use super::*;

    fn draws(ranks: u64, count: u64) -> impl Iterator<Item = u64> {
        let (zipf, mut n) = (Zipf::new(ranks), 0);
        (0..count).map(move |_| {
            zipf.rank(|| {
                n += 1;
                split_mix(7, n)
            })
        })
    }

    /// Pearson's chi-squared statistic over all ranks: its mean is the number of degrees of freedom n, its deviation sqrt(2n).
    #[test]
    fn frequencies_match_the_weights() {
        for ranks in [1, 2, 10, 65, 300, 1000] {
            let count = 400_000;
            let mut seen = vec![0u64; ranks as usize + 1];
            draws(ranks, count).for_each(|rank| seen[rank as usize] += 1);
            let sum: f64 = (1..=ranks).map(weight).sum();
            let statistic: f64 = (1..=ranks)
                .map(|rank| {
                    let expected = weight(rank) / sum * count as f64;
                    (seen[rank as usize] as f64 - expected).powi(2) / expected
                })
                .sum();
            let freedom = ranks as f64 - 1.0;
            assert!(statistic <= freedom + 5.0 * (2.0 * freedom).sqrt(), "{ranks}: {statistic}");
        }
    }

    /// The shares of the first of ten million ranks, compared with sums of the weights.
    #[test]
    fn the_first_of_many_ranks_have_their_share() {
        let (ranks, count) = (10_000_000, 400_000);
        let bounds = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];
        let mut seen = [0u64; 7];
        for rank in draws(ranks, count) {
            assert!((1..=ranks).contains(&rank));
            bounds.iter().zip(&mut seen).for_each(|(bound, seen)| *seen += u64::from(rank <= *bound));
        }
        let sums = |to: u64| (1..=to).map(weight).sum::<f64>();
        let all = sums(ranks);
        for (bound, seen) in bounds.iter().zip(seen) {
            let share = sums(*bound) / all;
            let deviation = (share * (1.0 - share) / count as f64).sqrt();
            let found = seen as f64 / count as f64;
            assert!((found - share).abs() < 5.0 * deviation, "{bound}: {found}, not {share}");
        }
    }
}
