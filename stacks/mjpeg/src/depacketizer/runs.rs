//! The received packets of a frame, as runs of consecutive sequence numbers. A frame that arrives in order is one run.

/// Packets with consecutive sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u64,
    last: u64,
    /// Start and end of their data in the scan.
    offset: u32,
    end: u32,
}

/// Result of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// The packet is new.
    New,
    /// The packet is new, but its data are not adjacent to those of its neighbours.
    Contradiction,
    /// The packet was received before.
    Duplicate,
    /// The packet would create too many runs and was not inserted.
    TooMany,
}

/// The runs of a frame in order. An insertion in order takes constant time, any other a search from the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    packets: u64,
}

impl Runs {
    /// Inserts a packet with data from `offset` to `end`.
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

    /// Sequence number of the first received packet.
    pub(super) fn first(&self) -> Option<u64> {
        self.runs.first().map(|run| run.first)
    }

    /// Sequence number of the last received packet.
    pub(super) fn last(&self) -> Option<u64> {
        self.runs.last().map(|run| run.last)
    }

    /// Number of received packets.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// The first and the last packet, if none between them is missing.
    pub(super) fn single_run(&self) -> Option<(u64, u64)> {
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

    /// A case: its name, packets with the expected results, and the final run if there is only one.
    type Row = (&'static str, &'static [(u64, Inserted)], Option<(u64, u64)>);

    #[test]
    fn adjacent_runs_are_merged() {
        // Packet n has bytes 10 n to 10 n + 9.
        let rows: [Row; 5] = [
            ("in order", &[(1, New), (2, New), (3, New)], Some((1, 3))),
            ("in reverse order", &[(3, New), (2, New), (1, New)], Some((1, 3))),
            (
                "a gap that is filled",
                &[(1, New), (3, New), (3, Duplicate), (1, Duplicate), (2, New)],
                Some((1, 3)),
            ),
            ("a gap that remains", &[(1, New), (3, New), (4, New)], None),
            (
                "too many runs",
                &[(1, New), (3, New), (5, New), (7, TooMany), (2, New), (4, New), (7, New)],
                None,
            ),
        ];
        for (case, packets, expected_run) in rows {
            let mut runs = Runs::default();
            for (sequence, expected) in packets {
                let offset = *sequence as u32 * 10;
                assert_eq!(runs.insert(*sequence, offset, offset + 10, 3), *expected, "{case}: {sequence}");
            }
            let new = packets.iter().filter(|(_, inserted)| *inserted == New).count() as u64;
            assert_eq!((runs.single_run(), runs.packets()), (expected_run, new), "{case}");
        }
    }

    #[test]
    fn data_of_neighbours_must_be_adjacent() {
        for (offset, end, expected) in [(10, 20, New), (11, 20, Contradiction), (10, 21, Contradiction)] {
            let mut runs = Runs::default();
            runs.insert(1, 0, 10, 9);
            runs.insert(3, 20, 30, 9);
            assert_eq!(runs.insert(2, offset, end, 9), expected);
            assert_eq!((runs.single_run(), runs.first(), runs.last()), (Some((1, 3)), Some(1), Some(3)));
        }
    }
}
