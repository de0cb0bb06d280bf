//! Which packets of a frame are there: runs without a hole, so that a frame in order is one, however many packets it has.

/// Packets whose numbers follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u64,
    last: u64,
    /// Where their data begin and end within the scan.
    offset: u32,
    end: u32,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It is new.
    New,
    /// It is new, but its data do not begin where those of the packet before end.
    Contradiction,
    /// It was there.
    Duplicate,
    /// There are too many holes; it was not taken.
    TooMany,
}

/// The runs of a frame, in their order. An insertion in order costs a few operations, any other a search from the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    packets: u64,
}

impl Runs {
    /// Takes a packet whose data go from `offset` to `end`.
    pub(super) fn insert(&mut self, sequence: u64, offset: u32, end: u32, max_runs: usize) -> Inserted {
        let after = self.runs.iter().rev().take_while(|run| run.first > sequence).count();
        let place = self.runs.len() - after;
        let before = place.checked_sub(1).map(|index| self.runs[index]);
        if before.is_some_and(|run| sequence <= run.last) {
            return Inserted::Duplicate;
        }
        let follows = before.filter(|run| run.last + 1 == sequence);
        let precedes = self.runs.get(place).copied().filter(|run| run.first == sequence + 1);
        let fits =
            follows.is_none_or(|run| run.end == offset) && precedes.is_none_or(|run| run.offset == end);
        match (follows, precedes) {
            (Some(_), Some(next)) => {
                self.runs[place - 1] = Run { last: next.last, end: next.end, ..self.runs[place - 1] };
                self.runs.remove(place);
            }
            (Some(run), None) => self.runs[place - 1] = Run { last: sequence, end, ..run },
            (None, Some(run)) => self.runs[place] = Run { first: sequence, offset, ..run },
            (None, None) if self.runs.len() == max_runs => return Inserted::TooMany,
            (None, None) => self.runs.insert(place, Run { first: sequence, last: sequence, offset, end }),
        }
        self.packets += 1;
        if fits { Inserted::New } else { Inserted::Contradiction }
    }

    /// Number of the first packet that is there.
    pub(super) fn first(&self) -> Option<u64> {
        self.runs.first().map(|run| run.first)
    }

    /// Number of the last packet that is there.
    pub(super) fn last(&self) -> Option<u64> {
        self.runs.last().map(|run| run.last)
    }

    /// Packets that are there.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// First and last packet, if there is no hole between them.
    pub(super) fn whole(&self) -> Option<(u64, u64)> {
        match self.runs[..] {
            [run] => Some((run.first, run.last)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Inserted::{Contradiction, Duplicate, New, TooMany};

    /// What is tried, packets and what becomes of each, first and last if there is no hole in the end.
    type Row = (&'static str, &'static [(u64, Inserted)], Option<(u64, u64)>);

    #[test]
    fn runs_grow_together() {
        // Each packet n has the ten bytes from 10 n on.
        let rows: [Row; 5] = [
            ("in order", &[(1, New), (2, New), (3, New)], Some((1, 3))),
            ("backwards", &[(3, New), (2, New), (1, New)], Some((1, 3))),
            (
                "a hole that closes",
                &[(1, New), (3, New), (3, Duplicate), (1, Duplicate), (2, New)],
                Some((1, 3)),
            ),
            ("a hole that stays", &[(1, New), (3, New), (4, New)], None),
            ("too many", &[(1, New), (3, New), (5, New), (7, TooMany), (2, New), (4, New), (7, New)], None),
        ];
        for (what, packets, whole) in rows {
            let mut runs = Runs::default();
            for (sequence, expected) in packets {
                let offset = *sequence as u32 * 10;
                assert_eq!(runs.insert(*sequence, offset, offset + 10, 3), *expected, "{what}: {sequence}");
            }
            let new = packets.iter().filter(|(_, inserted)| *inserted == New).count() as u64;
            assert_eq!((runs.whole(), runs.packets()), (whole, new), "{what}");
        }
    }

    #[test]
    fn data_must_follow_each_other() {
        for (offset, end, expected) in [(10, 20, New), (11, 20, Contradiction), (10, 21, Contradiction)] {
            let mut runs = Runs::default();
            runs.insert(1, 0, 10, 9);
            runs.insert(3, 20, 30, 9);
            assert_eq!(runs.insert(2, offset, end, 9), expected);
            assert_eq!((runs.whole(), runs.first(), runs.last()), (Some((1, 3)), Some(1), Some(3)));
        }
    }
}
