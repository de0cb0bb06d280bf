//! A lookup table for fast commands that compares names as integers.

use crate::spec::Spec;

/// Names up to this length fit into a word with their length.
pub(crate) const NAME_BYTES: usize = 7;
/// Initial number of places, a power of two.
const PLACES: usize = 512;

/// Fast commands that access only keys, with short names in upper or lower case. Other commands and mixed
/// case use the general table. `R` is a command's function.
pub(crate) struct FastCommands<R> {
    /// Open addressing; a word of 0 is empty.
    places: Vec<Place<R>>,
    len: usize,
}

#[derive(Clone, Copy)]
struct Place<R> {
    word: u64,
    /// `None` after replacement by a command that is not fast.
    run: Option<R>,
    index: u16,
    arity: i32,
}

impl<R> Place<R> {
    const EMPTY: Self = Self { word: 0, run: None, index: 0, arity: 0 };
}

impl<R: Copy> Default for FastCommands<R> {
    fn default() -> Self {
        Self { places: vec![Place::EMPTY; PLACES], len: 0 }
    }
}

impl<R: Copy> FastCommands<R> {
    /// Adds a command; without a function, removes its name.
    pub(crate) fn add(&mut self, spec: &Spec, run: Option<R>, index: usize) {
        let run = run.filter(|_| spec.is_fast() && spec.concerns_keys());
        let fits = run.is_some();
        let Ok(number) = u16::try_from(index) else { return };
        for name in [spec.name.to_ascii_lowercase(), spec.name.to_ascii_uppercase()] {
            let word = word(name.as_bytes());
            let place = Place { word, run, index: number, arity: spec.arity };
            if word != 0 && (fits || self.places[self.at(word)].word == word) {
                self.enter(place);
            }
        }
    }

    /// Finds a command by name and number of arguments.
    #[inline]
    pub(crate) fn find(&self, name: &[u8], args: usize) -> Option<(usize, R)> {
        let word = word(name);
        let place = &self.places[self.at(word)];
        let arity = place.arity.unsigned_abs() as usize;
        let takes = args == arity || place.arity < 0 && args > arity;
        // The word of an overlong name matches no command.
        if place.word != word || !takes {
            return None;
        }
        place.run.map(|run| (usize::from(place.index), run))
    }

    /// The place of a word, or the free place for it.
    #[inline]
    fn at(&self, word: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & mask;
        while self.places[at].word != word && self.places[at].word != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    fn enter(&mut self, place: Place<R>) {
        if (self.len + 1) * 2 > self.places.len() {
            let larger = vec![Place::EMPTY; self.places.len() * 2];
            let old = std::mem::replace(&mut self.places, larger);
            self.len = 0;
            old.into_iter().filter(|place| place.word != 0).for_each(|place| self.enter(place));
        }
        let at = self.at(place.word);
        self.len += usize::from(self.places[at].word == 0);
        self.places[at] = place;
    }
}

/// Combines the bytes of a name and its length into a unique number; 0 if it is empty or too long.
#[inline]
fn word(name: &[u8]) -> u64 {
    let length = name.len();
    let bytes = match name {
        [first, .., last] if length <= 3 => {
            u64::from(*first) | u64::from(name[length / 2]) << 8 | u64::from(*last) << 16
        }
        // The halves of a longer name overlap in identical bytes.
        [a, b, c, d, ..] if length <= NAME_BYTES => {
            let [e, f, g, h] = [name[length - 4], name[length - 3], name[length - 2], name[length - 1]];
            let (low, high) = (u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([e, f, g, h]));
            u64::from(low) | u64::from(high) << (8 * (length - 4))
        }
        [only] => u64::from(*only),
        _ => return 0,
    };
    bytes | (length as u64) << 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn short_names_have_unique_words() {
        let texts = ["", "g", "ge", "get", "gget", "gte", "gett", "setex", "expire", "hexists", "hexistss"];
        let words: BTreeSet<u64> = texts.iter().map(|text| word(text.as_bytes())).collect();
        // The first and last texts have no word.
        assert_eq!(words.len(), texts.len() - 1);
        assert_ne!(word(b"ab"), word(b"abb"));
        assert_ne!(word(b"a\0"), word(b"a"));
    }
}
