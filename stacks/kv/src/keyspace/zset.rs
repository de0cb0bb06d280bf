//! Sorted sets: members by score, then by bytes; each member's score by a hash table.

use std::cmp::Ordering;

use super::hasher::Hasher;
use super::sequence::Sequence;
use super::short::Short;
use super::table::TextTable;
use super::weight::Weigh;
use crate::random::Random;

/// A member in its place.
#[derive(Debug, Clone)]
pub(crate) struct Scored {
    pub(crate) score: f64,
    member: Short,
}

impl Scored {
    pub(crate) fn member(&self) -> &[u8] {
        self.member.as_slice()
    }

    fn order(&self, score: f64, member: &[u8]) -> Ordering {
        self.score.partial_cmp(&score).unwrap_or(Ordering::Equal).then_with(|| self.member().cmp(member))
    }
}

impl Weigh for Scored {
    fn heap_bytes(&self) -> usize {
        self.member.heap_bytes()
    }
}

/// Members with scores. Never holds a NaN: whoever computes scores refuses it first.
#[derive(Debug, Clone)]
pub(crate) struct Zset {
    scores: TextTable,
    order: Sequence<Scored>,
}

fn score_of(value: Option<&[u8]>) -> Option<f64> {
    Some(f64::from_le_bytes(value?.try_into().ok()?))
}

impl Zset {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { scores: TextTable::new(hasher), order: Sequence::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.scores.memory_bytes() + self.order.memory_bytes()
    }

    /// Whether there are no more members than this, none longer than so many bytes.
    pub(crate) fn is_within(&self, members: usize, bytes: usize) -> bool {
        self.len() <= members && self.iter().all(|scored| scored.member().len() <= bytes)
    }

    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        score_of(self.scores.get(member)?.string())
    }

    /// Sets a member's score, and tells the one that it had.
    pub(crate) fn insert(&mut self, member: &[u8], score: f64) -> Option<f64> {
        let old = self.score(member);
        if let Some(old) = old {
            if old == score {
                return Some(old);
            }
            self.order.remove(self.position(old, member));
        }
        self.scores.set(member, &score.to_le_bytes());
        let at = self.position(score, member);
        self.order.insert(at, Scored { score, member: Short::new(member) });
        old
    }

    pub(crate) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let score = score_of(self.scores.remove(member)?.string())?;
        self.order.remove(self.position(score, member));
        Some(score)
    }

    /// Takes out what stands at a rank.
    pub(crate) fn remove_at(&mut self, rank: usize) -> Option<Scored> {
        let scored = self.order.remove(rank)?;
        self.scores.remove(scored.member());
        Some(scored)
    }

    pub(crate) fn rank(&self, member: &[u8]) -> Option<(usize, f64)> {
        let score = self.score(member)?;
        Some((self.position(score, member), score))
    }

    pub(crate) fn at(&self, rank: usize) -> Option<&Scored> {
        self.order.get(rank)
    }

    pub(crate) fn iter_from(&self, rank: usize) -> impl Iterator<Item = &Scored> {
        self.order.iter_from(rank)
    }

    pub(crate) fn iter_back_from(&self, rank: usize) -> impl Iterator<Item = &Scored> {
        self.order.iter_back_from(rank)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Scored> {
        self.order.iter()
    }

    /// The rank of the first member for which `before` is false.
    pub(crate) fn partition_point(&self, before: impl Fn(&Scored) -> bool) -> usize {
        self.order.partition_point(before)
    }

    pub(crate) fn random(&self, random: &mut Random) -> Option<&Scored> {
        self.order.get(random.below(self.len()))
    }

    pub(crate) fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&[u8], f64)) -> u64 {
        self.scores
            .scan(cursor, count, |entry| visit(entry.key(), score_of(entry.string()).unwrap_or_default()))
    }

    fn position(&self, score: f64, member: &[u8]) -> usize {
        self.order.partition_point(|scored| scored.order(score, member) == Ordering::Less)
    }
}
