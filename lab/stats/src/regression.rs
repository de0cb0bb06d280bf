//! Regression test of `--fail-on regression=3%`.
//!
//! | claim | condition |
//! |---|---|
//! | regression | the whole interval is on the worse side of 1, and the estimate exceeds the limit |
//! | no regression | the whole interval is on the better side of the limit |
//! | undecided | neither |
//!
//! The interval is valid at any stopping time, so that a run can check after every session and stop at the first
//! claim. For an unchanged program, the claim "regression" is false in at most 2.5 % of the runs at alpha = 5 % (one
//! side of the interval). For a program that is slower by more than the limit, the claim "no regression" is false
//! equally rarely. "Regression" compares the limit with the estimate rather than with the interval: the latter would
//! need six times as many sessions to detect 5 % with a limit of 3 %. A program that is significantly slower and
//! whose best estimate exceeds the limit should not be merged.

use super::Direction;

/// Claim about a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(rename = "Claim"))]
pub enum RegressionClaim {
    /// Significantly worse, and the estimate exceeds the limit.
    Regression,
    /// Not worse by more than the limit.
    NoRegression,
    /// Neither is significant.
    Undecided,
}

/// Relative loss: 0.05 means 5 % more time, or 5 % more time for the same work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The estimate.
    pub estimate: f64,
    /// Lower end of the interval; negative if a gain is possible.
    pub low: f64,
    /// Upper end; infinite if unbounded.
    pub high: f64,
}

impl Loss {
    /// Computes the loss from a ratio, new / old, and its interval. Unbounded ends are 0 and infinity.
    #[must_use]
    pub fn new((ratio, low, high): (f64, f64, f64), better: Direction) -> Loss {
        match better {
            Direction::Higher => {
                Loss { estimate: 1.0 / ratio - 1.0, low: 1.0 / high - 1.0, high: 1.0 / low - 1.0 }
            }
            Direction::Lower => Loss { estimate: ratio - 1.0, low: low - 1.0, high: high - 1.0 },
        }
    }

    /// Compares the loss with a relative limit, such as 0.03.
    #[must_use]
    pub fn claim(&self, limit: f64) -> RegressionClaim {
        // If Holm's procedure cut the interval at 1, the sign is significant.
        if self.low >= 0.0 && self.estimate > limit {
            RegressionClaim::Regression
        } else if self.high <= limit {
            RegressionClaim::NoRegression
        } else {
            RegressionClaim::Undecided
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::blocks::{Noise, Source, rate};
    use crate::{PairedRatios, Rules, Unit, judge, quantile};

    const LIMIT: f64 = 0.03;

    #[test]
    fn claims() {
        for (ratio, low, high, better, claim) in [
            (0.95, 0.93, 0.97, Direction::Higher, RegressionClaim::Regression),
            (0.95, 0.93, 1.0, Direction::Higher, RegressionClaim::Regression),
            (0.95, 0.90, 1.001, Direction::Higher, RegressionClaim::Undecided),
            (0.98, 0.975, 0.985, Direction::Higher, RegressionClaim::NoRegression),
            (0.98, 0.96, 0.999, Direction::Higher, RegressionClaim::Undecided),
            (1.2, 1.0, 1.4, Direction::Higher, RegressionClaim::NoRegression),
            (1.0, 0.0, f64::INFINITY, Direction::Higher, RegressionClaim::Undecided),
            (1.05, 1.02, 1.08, Direction::Lower, RegressionClaim::Regression),
            (0.95, 0.93, 0.97, Direction::Lower, RegressionClaim::NoRegression),
            (1.0, 0.0, f64::INFINITY, Direction::Lower, RegressionClaim::Undecided),
            (f64::NAN, 0.0, f64::INFINITY, Direction::Lower, RegressionClaim::Undecided),
            (f64::NAN, 0.0, f64::INFINITY, Direction::Higher, RegressionClaim::Undecided),
        ] {
            assert_eq!(Loss::new((ratio, low, high), better).claim(LIMIT), claim, "{ratio} {low} {high}");
        }
    }

    /// The first claim of a run of at most `most` sessions, and its number of sessions.
    fn run(source: &mut Source, slower: f64, deviation: f64, most: usize) -> (RegressionClaim, u64) {
        let mut log_ratios = Vec::new();
        for count in 1..=most {
            log_ratios.push(-slower.ln_1p() + deviation * source.draw(Noise::Gaussian));
            let comparison = PairedRatios { unit: Unit::Session, log_ratios: log_ratios.clone() };
            let judged = judge(&[comparison], Direction::Higher, &Rules::default()).remove(0);
            let loss = Loss::new((judged.ratio, judged.low, judged.high), Direction::Higher);
            let claim = loss.claim(LIMIT);
            if claim != RegressionClaim::Undecided {
                return (claim, count as u64);
            }
        }
        (RegressionClaim::Undecided, most as u64)
    }

    /// Sessions of a real duel take 1.5 to 2.5 s, so that a minute contains at least 24. The deviations are those of a program
    /// against itself (docs/METHOD.md).
    #[test]
    fn a_loss_of_five_percent_fails_within_a_minute_and_an_unchanged_program_passes() {
        let mut source = Source::seeded(41);
        for deviation in [0.005, 0.018, 0.027, 0.04] {
            let mut sessions = Vec::new();
            let failed = rate(&format!("5 % slower, {deviation}"), 1_000, || {
                let (claim, count) = run(&mut source, 0.05, deviation, 24);
                sessions.push(count);
                claim == RegressionClaim::Regression
            });
            println!("sessions: median {:?}, p90 {:?}", quantile(&sessions, 0.5), quantile(&sessions, 0.9));
            assert!(failed >= 0.95, "{deviation}: {failed}");
            let failed = rate(&format!("unchanged, {deviation}"), 2_000, || {
                run(&mut source, 0.0, deviation, 24).0 == RegressionClaim::Regression
            });
            assert!(failed <= 0.025, "{deviation}: {failed}");
        }
    }

    /// A program that is slightly slower than the limit rarely passes.
    #[test]
    fn a_loss_beyond_the_limit_rarely_passes() {
        let mut source = Source::seeded(42);
        let wrong = rate("no regression at 3.1 %", 2_000, || {
            run(&mut source, 0.031, 0.02, 40).0 == RegressionClaim::NoRegression
        });
        assert!(wrong <= 0.025, "{wrong}");
    }
}
