//! `--fail-on`: converts a verdict to an exit code.

use super::{GOOD, REGRESSION};
use crate::cli::FailOn;
use netdyno_stats::RegressionClaim;

/// The conditions of `--fail-on`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Gate {
    /// The largest tolerated regression, relative.
    pub(super) limit: Option<f64>,
    undecided: bool,
}

impl Gate {
    /// Combines the conditions.
    ///
    /// # Errors
    /// If `undecided` is given without a regression limit.
    pub(super) fn of(asked: &[FailOn]) -> Result<Gate, String> {
        let mut gate = Gate::default();
        for condition in asked {
            match condition {
                FailOn::Regression(share) => gate.limit = Some(*share),
                FailOn::Undecided => gate.undecided = true,
            }
        }
        match gate {
            Gate { limit: None, undecided: true } => {
                Err("--fail-on undecided needs a limit: add --fail-on regression=3%".to_owned())
            }
            gate => Ok(gate),
        }
    }

    pub(super) fn code(self, claim: RegressionClaim) -> u8 {
        match claim {
            RegressionClaim::Regression => REGRESSION,
            RegressionClaim::Undecided if self.undecided => REGRESSION,
            RegressionClaim::Undecided | RegressionClaim::NoRegression => GOOD,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_fails_only_on_request() {
        let lenient = Gate::of(&[FailOn::Regression(0.03)]).unwrap();
        let strict = Gate::of(&[FailOn::Undecided, FailOn::Regression(0.03)]).unwrap();
        for (claim, codes) in [
            (RegressionClaim::Regression, [REGRESSION, REGRESSION]),
            (RegressionClaim::Undecided, [GOOD, REGRESSION]),
            (RegressionClaim::NoRegression, [GOOD, GOOD]),
        ] {
            assert_eq!([lenient.code(claim), strict.code(claim)], codes, "{claim:?}");
        }
        assert!(Gate::of(&[FailOn::Undecided]).unwrap_err().contains("add --fail-on regression=3%"));
        assert_eq!(Gate::of(&[]).unwrap(), Gate::default());
    }
}
