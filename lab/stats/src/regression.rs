//! Whether something became slower by more than is put up with: what `--fail-on regression=3%` fails on.
//!
//! | claim | when |
//! |---|---|
//! | a regression | the whole interval is on the worse side of 1, and the estimate is beyond the limit |
//! | no regression | the whole interval is on the better side of the limit |
//! | undecided | neither |
//!
//! The interval holds at any stopping time, so that a run may look after every session and stop at the first claim. Of an
//! unchanged program the first claim is wrong in at most 2.5 % of the runs at alpha = 5 % (one side of the interval); of one
//! that is slower by more than the limit the second is wrong in as few. In between the limit is compared with the estimate:
//! to ask that the whole interval be beyond it would take six times the sessions for 5 % against a limit of 3 %, and a
//! program that is surely slower, and by the best estimate too much, is what nobody wants to merge.

use super::Direction;

/// What can be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// It is slower for sure, and by more than the limit as far as the estimate goes.
    Regression,
    /// It is not slower by more than the limit.
    NoRegression,
    /// Neither yet.
    Undecided,
}

/// How much worse something became: 0.05 is 5 % more time, or a rate that takes 5 % more time for the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The estimate.
    pub estimate: f64,
    /// The lower end; below 0 it may also have become better.
    pub low: f64,
    /// The upper end; infinite if unbounded.
    pub high: f64,
}

impl Loss {
    /// From a ratio, new by old, and its interval: the ends are 0 and infinite where they are unbounded.
    #[must_use]
    pub fn of((ratio, low, high): (f64, f64, f64), better: Direction) -> Loss {
        match better {
            Direction::Higher => {
                Loss { estimate: 1.0 / ratio - 1.0, low: 1.0 / high - 1.0, high: 1.0 / low - 1.0 }
            }
            Direction::Lower => Loss { estimate: ratio - 1.0, low: low - 1.0, high: high - 1.0 },
        }
    }

    /// What it comes to. `limit` is relative: 0.03.
    #[must_use]
    pub fn claim(&self, limit: f64) -> Claim {
        // Holm may have cut the interval at 1: then the sign is claimed.
        if self.low >= 0.0 && self.estimate > limit {
            Claim::Regression
        } else if self.high <= limit {
            Claim::NoRegression
        } else {
            Claim::Undecided
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, Source, rate};
    use super::super::{Comparison, Rules, Unit, judge, quantile};
    use super::*;

    const LIMIT: f64 = 0.03;

    #[test]
    fn claims() {
        for (ratio, low, high, better, claim) in [
            (0.95, 0.93, 0.97, Direction::Higher, Claim::Regression),
            (0.95, 0.93, 1.0, Direction::Higher, Claim::Regression),
            (0.95, 0.90, 1.001, Direction::Higher, Claim::Undecided),
            (0.98, 0.975, 0.985, Direction::Higher, Claim::NoRegression),
            (0.98, 0.96, 0.999, Direction::Higher, Claim::Undecided),
            (1.2, 1.0, 1.4, Direction::Higher, Claim::NoRegression),
            (1.0, 0.0, f64::INFINITY, Direction::Higher, Claim::Undecided),
            (1.05, 1.02, 1.08, Direction::Lower, Claim::Regression),
            (0.95, 0.93, 0.97, Direction::Lower, Claim::NoRegression),
            (1.0, 0.0, f64::INFINITY, Direction::Lower, Claim::Undecided),
            (f64::NAN, 0.0, f64::INFINITY, Direction::Lower, Claim::Undecided),
            (f64::NAN, 0.0, f64::INFINITY, Direction::Higher, Claim::Undecided),
        ] {
            assert_eq!(Loss::of((ratio, low, high), better).claim(LIMIT), claim, "{ratio} {low} {high}");
        }
    }

    /// The first claim of a run of so many sessions at the most, and the sessions that it took.
    fn run(source: &mut Source, slower: f64, deviation: f64, most: usize) -> (Claim, u64) {
        let mut log_ratios = Vec::new();
        for count in 1..=most {
            log_ratios.push(-slower.ln_1p() + deviation * source.draw(Noise::Gaussian));
            let comparison =
                Comparison { contender: String::new(), unit: Unit::Session, log_ratios: log_ratios.clone() };
            let judged = judge(&[comparison], Direction::Higher, &Rules::default()).remove(0);
            let loss = Loss::of((judged.ratio, judged.low, judged.high), Direction::Higher);
            let claim = loss.claim(LIMIT);
            if claim != Claim::Undecided {
                return (claim, count as u64);
            }
        }
        (Claim::Undecided, most as u64)
    }

    /// Sessions of a real duel take 1.5 to 2.5 s, so that a minute holds 24 and more; between them the log ratio of a program to
    /// itself varied by 1.8 and 2.7 % in those that were measured (docs/METHOD.md).
    #[test]
    fn five_percent_fails_within_a_minute_and_an_unchanged_one_passes() {
        let mut source = Source::seeded(41);
        for deviation in [0.005, 0.018, 0.027, 0.04] {
            let mut sessions = Vec::new();
            let failed = rate(&format!("5 % slower, {deviation}"), 1_000, || {
                let (claim, count) = run(&mut source, 0.05, deviation, 24);
                sessions.push(count);
                claim == Claim::Regression
            });
            println!("sessions: median {:?}, p90 {:?}", quantile(&sessions, 0.5), quantile(&sessions, 0.9));
            assert!(failed >= 0.95 || deviation > 0.03, "{deviation}: {failed}");
            let failed = rate(&format!("unchanged, {deviation}"), 2_000, || {
                run(&mut source, 0.0, deviation, 24).0 == Claim::Regression
            });
            assert!(failed <= 0.025, "{deviation}: {failed}");
        }
    }

    /// A program that is slower by a little more than the limit is not waved through.
    #[test]
    fn no_regression_is_seldom_said_of_one() {
        let mut source = Source::seeded(42);
        let wrong = rate("no regression at 3.1 %", 2_000, || {
            run(&mut source, 0.031, 0.02, 40).0 == Claim::NoRegression
        });
        assert!(wrong <= 0.025, "{wrong}");
    }
}
