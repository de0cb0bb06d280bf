//! Sets: small sets of integers are sorted, as in Redis; other small sets keep the insertion order, as in
//! Redis since 7.2; large sets are unordered.

use super::entry::TextEntry;
use super::hash::SmallLimits;
use super::hasher::Hasher;
use super::packed::Packed;
use super::table::TextTable;
use super::weight::allocation_bytes;
use crate::limits::{SET_SMALL_BYTES, SET_SMALL_MEMBERS, SMALL_ENTRIES_MAX};
use crate::number;
use crate::random::Random;

/// Members of a set.
#[derive(Debug, Clone)]
pub(crate) enum Set {
    /// In ascending order.
    Integers(Vec<i64>, Hasher),
    Small(Packed, Hasher),
    Large(Box<TextTable>),
}

/// Maximum digits of an integer, including the sign.
const DIGITS_MAX: usize = 20;

/// A member as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Member<'a> {
    Text(&'a [u8]),
    Integer { length: u8, digits: [u8; DIGITS_MAX] },
}

impl Member<'_> {
    fn integer(number: i64) -> Self {
        let mut buffer = itoa::Buffer::new();
        let text = buffer.format(number).as_bytes();
        let mut digits = [0; DIGITS_MAX];
        digits[..text.len()].copy_from_slice(text);
        Self::Integer { length: text.len() as u8, digits }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Integer { length, digits } => &digits[..usize::from(*length)],
        }
    }
}

impl Set {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self::Integers(Vec::new(), hasher)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integers(sorted, _) => sorted.len(),
            Self::Small(members, _) => members.len(),
            Self::Large(members) => members.len(),
        }
    }

    pub(crate) fn is_integers(&self) -> bool {
        matches!(self, Self::Integers(..))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Integers(sorted, _) => allocation_bytes(sorted.capacity() * size_of::<i64>()),
            Self::Small(members, _) => members.memory_bytes(),
            Self::Large(members) => size_of::<TextTable>() + members.memory_bytes(),
        }
    }

    pub(crate) fn contains(&self, member: &[u8]) -> bool {
        match self {
            Self::Integers(sorted, _) => {
                number::integer(member).is_some_and(|number| sorted.binary_search(&number).is_ok())
            }
            Self::Small(members, _) => members.iter().any(|other| other == member),
            Self::Large(members) => members.contains(member),
        }
    }

    /// Adds a member; `true` if it is new.
    pub(crate) fn add(&mut self, member: &[u8], small: SmallLimits) -> bool {
        let number = number::integer(member);
        if let (Self::Integers(sorted, _), Some(number)) = (&mut *self, number) {
            let Err(at) = sorted.binary_search(&number) else { return false };
            if sorted.len() == sorted.capacity() {
                sorted.reserve_exact(sorted.len() / 4 + 3);
            }
            sorted.insert(at, number);
            if sorted.len() > small.set_integers.min(SMALL_ENTRIES_MAX) {
                self.mix();
            }
            return true;
        }
        if self.contains(member) {
            return false;
        }
        self.mix();
        if self.len() >= SET_SMALL_MEMBERS || member.len() > SET_SMALL_BYTES {
            self.grow();
        }
        match self {
            Self::Integers(..) => {}
            Self::Small(members, _) => members.push(member),
            Self::Large(members) => return members.set(member, b""),
        }
        true
    }

    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        match self {
            Self::Integers(sorted, _) => {
                let at = number::integer(member).and_then(|number| sorted.binary_search(&number).ok());
                at.map(|at| sorted.remove(at)).is_some()
            }
            Self::Small(members, _) => {
                let at = members.iter().position(|other| other == member);
                at.map(|at| members.remove(at, 1)).is_some()
            }
            Self::Large(members) => members.remove(member).is_some(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Member<'_>> {
        let (integers, small, large) = match self {
            Self::Integers(sorted, _) => (Some(sorted), None, None),
            Self::Small(members, _) => (None, Some(members), None),
            Self::Large(members) => (None, None, Some(members)),
        };
        let texts = small.into_iter().flat_map(Packed::iter);
        let texts = texts.chain(large.into_iter().flat_map(|members| members.iter()).map(TextEntry::key));
        let integers = integers.into_iter().flatten().map(|number| Member::integer(*number));
        integers.chain(texts.map(Member::Text))
    }

    /// Visits all members, faster than [`iter`](Self::iter).
    pub(crate) fn each(&self, mut visit: impl FnMut(&[u8])) {
        match self {
            Self::Integers(sorted, _) => {
                let mut buffer = itoa::Buffer::new();
                sorted.iter().for_each(|number| visit(buffer.format(*number).as_bytes()));
            }
            Self::Small(members, _) => members.iter().for_each(visit),
            Self::Large(members) => members.iter().for_each(|entry| visit(entry.key())),
        }
    }

    /// A uniformly random member.
    pub(crate) fn random(&self, random: &mut Random) -> Option<Member<'_>> {
        if self.len() == 0 {
            return None;
        }
        match self {
            Self::Integers(sorted, _) => {
                sorted.get(random.below(sorted.len())).map(|number| Member::integer(*number))
            }
            Self::Small(members, _) => members.get(random.below(members.len())).map(Member::Text),
            Self::Large(members) => members.random(random).map(|entry| Member::Text(entry.key())),
        }
    }

    /// Like a table's [`scan`](TextTable::scan). A small set is visited in one call.
    pub(crate) fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&[u8])) -> u64 {
        match self {
            Self::Large(members) => members.scan(cursor, count, |entry| visit(entry.key())),
            _ => {
                self.each(visit);
                0
            }
        }
    }

    /// Converts a set of integers to one of arbitrary members.
    fn mix(&mut self) {
        if let Self::Integers(sorted, hasher) = self {
            let mut members = Packed::default();
            sorted.iter().for_each(|number| members.push(Member::integer(*number).as_slice()));
            *self = Self::Small(members, hasher.clone());
            if self.len() > SET_SMALL_MEMBERS {
                self.grow();
            }
        }
    }

    /// Converts to a table, which is unordered.
    fn grow(&mut self) {
        if let Self::Small(members, hasher) = self {
            let mut table = TextTable::new(hasher);
            for member in members.iter() {
                table.set(member, b"");
            }
            *self = Self::Large(Box::new(table));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn behaves_like_a_set_of_texts() {
        let small = SmallLimits { set_integers: 40, ..SmallLimits::default() };
        for seed in 0..12 {
            let mut random = Random::new(seed);
            let mut set = Set::new(Hasher::new(&mut random));
            let mut model = BTreeSet::new();
            for step in 0..4000 {
                let number = random.below(if seed % 2 == 0 { 30 } else { 300 });
                // Some seeds use integers only; others soon add other members or long ones.
                let member = match (seed % 3, random.below(50)) {
                    (1, 0) => format!("0{number}"),
                    (2, 0) => format!("{number}{}", "x".repeat(70)),
                    _ => format!("-{}", number + 1),
                }
                .into_bytes();
                if random.below(10) < if step < 2000 { 7 } else { 3 } {
                    assert_eq!(set.add(&member, small), model.insert(member.clone()));
                } else {
                    assert_eq!(set.remove(&member), model.remove(&member));
                }
                assert_eq!(set.contains(&member), model.contains(&member));
                assert_eq!(set.len(), model.len());
                if step % 100 == 0 {
                    let members: BTreeSet<_> = set.iter().map(|member| member.as_slice().to_vec()).collect();
                    assert_eq!(members, model);
                    let drawn = set.random(&mut random).map(|member| member.as_slice().to_vec());
                    assert!(drawn.map_or(model.is_empty(), |drawn| model.contains(&drawn)));
                }
            }
        }
    }

    #[test]
    fn only_canonical_integers_are_stored_as_integers() {
        let mut set = Set::new(Hasher::new(&mut Random::new(1)));
        for number in ["9223372036854775807", "-9223372036854775808", "0", "-1", "10"] {
            assert!(set.add(number.as_bytes(), SmallLimits::default()));
        }
        let members: Vec<_> = set.iter().map(|member| member.as_slice().to_vec()).collect();
        let wanted = ["-9223372036854775808", "-1", "0", "10", "9223372036854775807"];
        assert_eq!(members, wanted.map(|text| text.as_bytes().to_vec()));
        for text in ["00", "+1", "-0", "", " 1", "9223372036854775808"] {
            assert!(!set.contains(text.as_bytes()) && !set.remove(text.as_bytes()));
        }
        assert!(set.add(b"9223372036854775808", SmallLimits::default()) && !set.is_integers());
    }
}
