//! Ranks by Zipf's law: rank k = 1, 2, .. has a weight of k^-s. Exact, and at the cost of one or two random numbers.
//!
//! The ranks are cut into blocks whose width grows with the rank, so that all weights of a block are nearly the same. A block is chosen by
//! Walker's alias method, as if each of its ranks weighed as much as its first; a rank of it is chosen evenly, and kept with the
//! probability that its own weight is less by; if it is not kept, all is done again. More than 99 of 100 are kept.

/// The exponent s.
const EXPONENT: f64 = 0.99;
/// A block that begins at rank k is k / 64 wide: the weights in it differ by 1.6 % at most.
const RANKS_PER_WIDTH: u64 = 64;
const ONE: f64 = (1u64 << 32) as f64;

/// Chooses ranks below a limit.
#[derive(Debug)]
pub struct Zipf {
    columns: Box<[Column]>,
}

/// A block, and its column of the alias table.
#[derive(Debug, Clone, Copy)]
struct Column {
    /// Rank of the block, from 1.
    first: u32,
    width: u32,
    /// Of 2^32 numbers so many keep any rank of the block.
    sure: u32,
    /// Of 2^32 numbers so many choose this block, the others the block `alias`.
    own: u32,
    alias: u32,
}

impl Zipf {
    /// Of the ranks 1 .. `ranks`; at least one, and below 2^32.
    pub fn new(ranks: u64) -> Self {
        let mut columns = Vec::new();
        let mut first = 1;
        while first <= ranks {
            let width = (first / RANKS_PER_WIDTH).clamp(1, ranks - first + 1);
            let sure = weight(first + width - 1) / weight(first);
            // A cast of a float saturates: 1 becomes the greatest number.
            let sure = (sure * ONE) as u32;
            columns.push(Column { first: first as u32, width: width as u32, sure, own: u32::MAX, alias: 0 });
            first += width;
        }
        alias(&mut columns);
        Self { columns: columns.into() }
    }

    /// A rank, from 1. `random` gives 64 random bits at a time.
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

/// The low half of the bits as an even choice among so many.
fn part(bits: u64, of: u64) -> u64 {
    ((bits & 0xffff_ffff) * of) >> 32
}

fn weight(rank: u64) -> f64 {
    (rank as f64).powf(-EXPONENT)
}

/// Walker's alias table: columns of the same height, each of one or two blocks.
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

    /// Pearson's statistic over every rank: its mean is the degrees of freedom, its deviation the root of twice these.
    #[test]
    fn every_rank_is_as_frequent_as_its_weight() {
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

    /// Of ten million, the shares of the first of them: sums of the weights.
    #[test]
    fn of_many_ranks_the_first_have_their_share() {
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
