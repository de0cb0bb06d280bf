//! Which of several runs is gone on with, so that a given time answers as many questions as it can. Pure functions.

use std::cmp::Ordering;

use super::question::Standing;

/// Rounds of a method that has had none: as many as a first interval takes.
pub const FIRST_ROUNDS: u32 = super::measured::FROM.first() as u32;
/// A forecast of so many rounds is given half as many again: it is as often too short as too long.
const SPARE: f64 = 1.5;

/// What a run would be gone on for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// Something of it has no interval yet.
    pub is_first: bool,
    /// Least rank of what it would answer.
    pub rank: u8,
    /// Rounds.
    pub rounds: u32,
    /// About how long they take.
    pub seconds: f64,
}

impl Turn {
    /// Of a run with these questions, that has had so many rounds of about this length; none where all are closed.
    #[must_use]
    pub fn of(questions: &[(u8, Standing)], rounds: u32, seconds_a_round: f64) -> Option<Turn> {
        let of = |i: usize| match questions[i].1 {
            Standing::Open(needed) => (needed, questions[i].0),
            Standing::Closed => (u32::MAX, questions[i].0),
        };
        let (needed, rank) = super::question::next(questions).into_iter().map(of).min()?;
        if rounds < FIRST_ROUNDS {
            let rounds = FIRST_ROUNDS - rounds;
            return Some(Turn { is_first: true, rank, rounds, seconds: seconds_a_round * f64::from(rounds) });
        }
        // No forecast is believed beyond what it was made from.
        let rounds = (f64::from(needed) * SPARE).ceil().min(f64::from(rounds)) as u32;
        Some(Turn { is_first: false, rank, rounds, seconds: seconds_a_round * f64::from(needed) })
    }

    /// First intervals come first; then what is answered soonest, where each rank doubles the time.
    fn cost(&self) -> (bool, f64) {
        (!self.is_first, self.seconds * f64::from(1u32 << self.rank.min(8)))
    }
}

/// The run that is gone on with.
#[must_use]
pub fn soonest(turns: &[Option<Turn>]) -> Option<usize> {
    let by_cost = |a: &(usize, (bool, f64)), b: &(usize, (bool, f64))| -> Ordering {
        a.1.0.cmp(&b.1.0).then(a.1.1.total_cmp(&b.1.1))
    };
    let turns = turns.iter().enumerate().filter_map(|(i, turn)| Some((i, turn.as_ref()?.cost())));
    turns.min_by(by_cost).map(|(i, _)| i)
}
