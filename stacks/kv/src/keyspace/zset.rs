//! Sorted sets: members ordered by score, then bytewise. Small ones are one packed string; large ones also
//! have a hash table of scores.

use std::cmp::Ordering;
use std::collections::VecDeque;

use super::hash::SmallLimits;
use super::hasher::Hasher;
use super::packed::Packed;
use super::sequence::Sequence;
use super::short::ShortString;
use super::table::TextTable;
use super::weight::Weigh;
use crate::limits::SMALL_ENTRIES_MAX;
use crate::random::Random;

const SCORE_BYTES: usize = size_of::<f64>();

/// A reference to a member with its score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredMember<'a> {
    pub(crate) member: &'a [u8],
    pub(crate) score: f64,
}

impl<'a> ScoredMember<'a> {
    /// Decodes an element of a small set: the score, then the member.
    fn unpack(text: &'a [u8]) -> Self {
        let (score, member) = text.split_at(SCORE_BYTES.min(text.len()));
        Self { member, score: score.try_into().map(f64::from_le_bytes).unwrap_or_default() }
    }

    fn is_before(&self, score: f64, member: &[u8]) -> bool {
        let order = self.score.partial_cmp(&score).unwrap_or(Ordering::Equal);
        order.then_with(|| self.member.cmp(member)) == Ordering::Less
    }
}

/// A member that was removed, or an element of a large set.
#[derive(Debug, Clone)]
pub(crate) struct RankedMember {
    pub(crate) score: f64,
    text: ShortString,
}

impl RankedMember {
    pub(crate) fn as_scored(&self) -> ScoredMember<'_> {
        ScoredMember { member: self.text.as_slice(), score: self.score }
    }
}

impl Weigh for RankedMember {
    fn heap_bytes(&self) -> usize {
        self.text.heap_bytes()
    }
}

/// Members with scores. A score is never NaN: callers check computed scores.
#[derive(Debug, Clone)]
pub(crate) enum Zset {
    Small(Packed, Hasher),
    Large(Box<Large>),
}

#[derive(Debug, Clone)]
pub(crate) struct Large {
    scores: TextTable,
    order: Sequence<VecDeque<RankedMember>>,
}

fn score_of(value: Option<&[u8]>) -> Option<f64> {
    Some(f64::from_le_bytes(value?.try_into().ok()?))
}

impl Zset {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self::Small(Packed::default(), hasher)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(members, _) => members.len(),
            Self::Large(large) => large.order.len(),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Small(members, _) => members.memory_bytes(),
            Self::Large(large) => {
                size_of::<Large>() + large.scores.memory_bytes() + large.order.memory_bytes()
            }
        }
    }

    pub(crate) fn is_small(&self) -> bool {
        matches!(self, Self::Small(..))
    }

    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        match self {
            Self::Small(..) => self.iter().find(|scored| scored.member == member).map(|scored| scored.score),
            Self::Large(large) => score_of(large.scores.get(member)?.string()),
        }
    }

    /// Sets a member's score and returns the previous one.
    pub(crate) fn insert(&mut self, member: &[u8], score: f64, small: SmallLimits) -> Option<f64> {
        let old = self.rank(member);
        if let Some((_, same)) = old.filter(|(_, old)| *old == score) {
            return Some(same);
        }
        let most = small.zset_entries.min(SMALL_ENTRIES_MAX);
        if old.is_none() && (self.len() >= most || member.len() > small.zset_bytes) {
            self.grow();
        }
        if let Some((rank, _)) = old {
            // In a large set, the score in the table is kept and overwritten next.
            match self {
                Self::Small(members, _) => members.remove(rank, 1),
                Self::Large(large) => drop(large.order.remove(rank)),
            }
        }
        let at = self.position(score, member);
        match self {
            Self::Small(members, _) => members.insert_parts(at, &[&score.to_le_bytes(), member]),
            Self::Large(large) => large.insert(at, ScoredMember { member, score }),
        }
        old.map(|(_, score)| score)
    }

    pub(crate) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let (rank, score) = self.rank(member)?;
        self.remove_at(rank);
        Some(score)
    }

    /// Removes the member at a rank.
    pub(crate) fn remove_at(&mut self, rank: usize) -> Option<RankedMember> {
        match self {
            Self::Small(members, _) => {
                let ScoredMember { member, score } = members.get(rank).map(ScoredMember::unpack)?;
                let taken = RankedMember { score, text: ShortString::new(member) };
                members.remove(rank, 1);
                Some(taken)
            }
            Self::Large(large) => {
                let taken = large.order.remove(rank)?;
                large.scores.remove(taken.text.as_slice());
                Some(taken)
            }
        }
    }

    pub(crate) fn rank(&self, member: &[u8]) -> Option<(usize, f64)> {
        match self {
            Self::Small(..) => {
                let mut ranked = self.iter().enumerate();
                ranked.find(|(_, scored)| scored.member == member).map(|(rank, scored)| (rank, scored.score))
            }
            Self::Large(_) => {
                let score = self.score(member)?;
                Some((self.position(score, member), score))
            }
        }
    }

    pub(crate) fn at(&self, rank: usize) -> Option<ScoredMember<'_>> {
        match self {
            Self::Small(members, _) => members.get(rank).map(ScoredMember::unpack),
            Self::Large(large) => large.order.get(rank).map(RankedMember::as_scored),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = ScoredMember<'_>> {
        self.iter_from(0)
    }

    pub(crate) fn iter_from(&self, rank: usize) -> impl Iterator<Item = ScoredMember<'_>> {
        let (small, large) = self.parts();
        let small =
            small.into_iter().flat_map(move |members| members.iter_from(rank)).map(ScoredMember::unpack);
        let large =
            large.into_iter().flat_map(move |order| order.iter_from(rank)).map(RankedMember::as_scored);
        small.chain(large)
    }

    /// Members from a rank down to the lowest.
    pub(crate) fn iter_back_from(&self, rank: usize) -> impl Iterator<Item = ScoredMember<'_>> {
        let (small, large) = self.parts();
        let small = small.into_iter().flat_map(move |members| members.iter_until(rank + 1).rev());
        let large = large.into_iter().flat_map(move |order| order.iter_back_from(rank));
        small.map(ScoredMember::unpack).chain(large.map(RankedMember::as_scored))
    }

    /// The rank of the first member for which `before` is false.
    pub(crate) fn partition_point(&self, before: impl Fn(ScoredMember<'_>) -> bool) -> usize {
        match self {
            Self::Small(..) => self.iter().take_while(|scored| before(*scored)).count(),
            Self::Large(large) => large.order.partition_point(|member| before(member.as_scored())),
        }
    }

    pub(crate) fn random(&self, random: &mut Random) -> Option<ScoredMember<'_>> {
        self.at(random.below(self.len()))
    }

    /// Like a table's [`scan`](TextTable::scan). A small set is visited in one call.
    pub(crate) fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&[u8], f64)) -> u64 {
        match self {
            Self::Small(..) => {
                self.iter().for_each(|scored| visit(scored.member, scored.score));
                0
            }
            Self::Large(large) => large.scores.scan(cursor, count, |entry| {
                visit(entry.key(), score_of(entry.string()).unwrap_or_default())
            }),
        }
    }

    fn grow(&mut self) {
        if let Self::Small(members, hasher) = self {
            let mut large = Large { scores: TextTable::new(hasher), order: Sequence::new() };
            for scored in members.iter().map(ScoredMember::unpack) {
                large.insert(large.order.len(), scored);
            }
            *self = Self::Large(Box::new(large));
        }
    }

    fn position(&self, score: f64, member: &[u8]) -> usize {
        self.partition_point(|scored| scored.is_before(score, member))
    }

    fn parts(&self) -> (Option<&Packed>, Option<&Sequence<VecDeque<RankedMember>>>) {
        match self {
            Self::Small(members, _) => (Some(members), None),
            Self::Large(large) => (None, Some(&large.order)),
        }
    }
}

impl Large {
    fn insert(&mut self, rank: usize, scored: ScoredMember<'_>) {
        self.scores.set(scored.member, &scored.score.to_le_bytes());
        self.order.insert(rank, RankedMember { score: scored.score, text: ShortString::new(scored.member) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random changes to small and large sets, compared with a sorted vector.
    #[test]
    fn behaves_like_a_sorted_vector() {
        let small = SmallLimits::default();
        for most in [20, small.zset_entries, 10 * small.zset_entries] {
            let mut random = Random::new(most as u64);
            let mut zset = Zset::new(Hasher::new(&mut random));
            let mut model: Vec<(i64, Vec<u8>)> = Vec::new();
            for step in 0..10_000 {
                let member = random.below(most).to_string().into_bytes();
                let old = model.iter().position(|(_, text)| *text == member);
                let old = old.map(|at| model.remove(at).0);
                if random.below(3) > 0 {
                    let score = random.below(50) as i64 - 25;
                    assert_eq!(zset.insert(&member, score as f64, small), old.map(|old| old as f64));
                    model.push((score, member.clone()));
                    model.sort();
                } else {
                    assert_eq!(zset.remove(&member), old.map(|old| old as f64));
                }
                assert_eq!(zset.len(), model.len());
                let place = model.iter().position(|(_, text)| *text == member);
                assert_eq!(zset.rank(&member), place.map(|at| (at, model[at].0 as f64)));
                if step % 100 == 0 {
                    let at = random.below(model.len() + 1);
                    let expected = |(score, text): &(i64, Vec<u8>)| (*score as f64, text.clone());
                    let found = |scored: ScoredMember<'_>| (scored.score, scored.member.to_vec());
                    assert!(zset.iter_from(at).map(found).eq(model[at..].iter().map(expected)));
                    if at < model.len() {
                        let back = model[..=at].iter().rev().map(expected);
                        assert!(zset.iter_back_from(at).map(found).eq(back));
                    }
                    assert_eq!(zset.at(at).map(found), model.get(at).map(expected));
                    let low = zset.partition_point(|scored| scored.score < 3.0);
                    assert_eq!(low, model.partition_point(|(score, _)| *score < 3));
                }
            }
            assert_eq!(zset.is_small(), most <= small.zset_entries);
            while zset.remove_at(zset.len() / 2).is_some() {}
            assert_eq!(zset.len(), 0);
        }
    }

    #[test]
    fn the_configuration_limits_small_collections() {
        let small = SmallLimits { zset_entries: 3, zset_bytes: 10, ..SmallLimits::default() };
        let fresh = || Zset::new(Hasher::new(&mut Random::new(1)));
        let mut zset = fresh();
        zset.insert(&[b'a'; 10], 1.0, small);
        assert!(zset.is_small());
        zset.insert(&[b'b'; 11], 1.0, small);
        assert!(!zset.is_small() && zset.iter().map(|scored| scored.member[0]).eq(*b"ab"));
        zset.remove(&[b'b'; 11]);
        assert!(!zset.is_small(), "it stays large");
        let mut zset = fresh();
        for (member, score) in [(b"a", 1.0), (b"b", 2.0), (b"c", 3.0), (b"a", 4.0)] {
            zset.insert(member, score, small);
            assert!(zset.is_small());
        }
        zset.insert(b"d", 0.0, small);
        assert!(!zset.is_small() && zset.iter().map(|scored| scored.member[0]).eq(*b"dbca"));
        let mut zset = fresh();
        zset.insert(b"a", 0.0, SmallLimits { zset_entries: 0, ..small });
        assert!(!zset.is_small());
    }
}
