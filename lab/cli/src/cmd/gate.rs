//! What `--fail-on` makes of a verdict: an exit code.

use super::{GOOD, REGRESSION};
use crate::cli::FailOn;
use netdyno_stats::Claim;

/// What a verb fails on beside failures.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Gate {
    /// The regression that is put up with, relative.
    pub(super) limit: Option<f64>,
    undecided: bool,
}

impl Gate {
    /// What was asked for.
    ///
    /// # Errors
    /// The caller's: to fail on what is undecided, without saying of what.
    pub(super) fn of(asked: &[FailOn]) -> Result<Gate, String> {
        let mut gate = Gate::default();
        for one in asked {
            match one {
                FailOn::Regression(share) => gate.limit = Some(*share),
                FailOn::Undecided => gate.undecided = true,
            }
        }
        match gate {
            Gate { limit: None, undecided: true } => Err(
                "--fail-on undecided: whether it is a regression of how much? add --fail-on regression=3%"
                    .to_owned(),
            ),
            gate => Ok(gate),
        }
    }

    pub(super) fn code(self, claim: Claim) -> u8 {
        match claim {
            Claim::Regression => REGRESSION,
            Claim::Undecided if self.undecided => REGRESSION,
            Claim::Undecided | Claim::NoRegression => GOOD,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undecided_passes_unless_it_was_asked_for() {
        let lenient = Gate::of(&[FailOn::Regression(0.03)]).unwrap();
        let strict = Gate::of(&[FailOn::Undecided, FailOn::Regression(0.03)]).unwrap();
        for (claim, codes) in [
            (Claim::Regression, [REGRESSION, REGRESSION]),
            (Claim::Undecided, [GOOD, REGRESSION]),
            (Claim::NoRegression, [GOOD, GOOD]),
        ] {
            assert_eq!([lenient.code(claim), strict.code(claim)], codes, "{claim:?}");
        }
        assert!(Gate::of(&[FailOn::Undecided]).unwrap_err().contains("add --fail-on regression=3%"));
        assert_eq!(Gate::of(&[]).unwrap(), Gate::default());
    }
}
