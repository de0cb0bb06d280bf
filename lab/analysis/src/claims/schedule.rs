//! Chooses which of several runs to continue, so that a time budget decides as many claims as possible. Pure functions.

use super::question::Standing;

/// Initial rounds of a method: the minimum for an interval.
pub const FIRST_ROUNDS: u32 = super::measured::FROM.first() as u32;
/// Factor applied to estimated rounds, because estimates are too low as often as too high.
const SPARE: f64 = 1.5;

/// The next rounds of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Continuation {
    /// Whether a question of the run has no interval yet.
    pub is_first: bool,
    /// Minimum rank of its questions.
    pub rank: u8,
    /// Number of rounds.
    pub rounds: u32,
    /// Estimated duration.
    pub seconds: f64,
}

impl Continuation {
    /// The next rounds of a run with these questions, rounds so far, and duration per round; `None` if all questions are closed.
    pub fn new(questions: &[(u8, Standing)], rounds: u32, seconds_a_round: f64) -> Option<Continuation> {
        let needed = |i: usize| match questions[i].1 {
            Standing::Open(needed) => (needed, questions[i].0),
            Standing::Closed => (u32::MAX, questions[i].0),
        };
        let (needed, rank) = super::question::next(questions).into_iter().map(needed).min()?;
        let is_first = rounds < FIRST_ROUNDS;
        let (rounds, estimate) = match is_first {
            true => (FIRST_ROUNDS - rounds, FIRST_ROUNDS - rounds),
            // An estimate is limited to the number of rounds that it is based on.
            false => ((f64::from(needed) * SPARE).ceil().min(f64::from(rounds)) as u32, needed),
        };
        Some(Continuation { is_first, rank, rounds, seconds: seconds_a_round * f64::from(estimate) })
    }

    /// First intervals precede others; otherwise the shortest time, doubled for each rank.
    fn cost(&self) -> (bool, f64) {
        (!self.is_first, self.seconds * f64::from(1u32 << self.rank.min(8)))
    }
}

/// Index of the run to continue.
pub fn soonest(turns: &[Option<Continuation>]) -> Option<usize> {
    let turns = turns.iter().enumerate().filter_map(|(i, turn)| Some((i, turn.as_ref()?.cost())));
    turns.min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(i, _)| i)
}
