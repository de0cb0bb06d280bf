//! `--fail-on`: converts claims to an exit code.

use super::{GOOD, MISSING, REGRESSION, code_of};
use crate::cli::FailOn;
use netdyno_lab_analysis::comparison::{Limit, Tolerance, primary_limit};
use netdyno_lab_analysis::report::Report;
use netdyno_lab_manifest::{ManifestError, Workload};
use netdyno_lab_store::Settings;
use netdyno_stats::RegressionClaim;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FailConditions {
    pub(crate) tolerances: Vec<Tolerance>,
    pub(crate) undecided: bool,
}

impl FailConditions {
    /// Combines the conditions. `undecided` alone is an error.
    pub(crate) fn new(conditions: &[FailOn]) -> Result<FailConditions, String> {
        let mut combined = FailConditions::default();
        for condition in conditions {
            match condition {
                FailOn::Beyond(tolerance) => {
                    combined.tolerances.retain(|t| t.metric != tolerance.metric);
                    combined.tolerances.push(tolerance.clone());
                }
                FailOn::Undecided => combined.undecided = true,
            }
        }
        if combined.undecided && combined.tolerances.is_empty() {
            return Err("--fail-on undecided needs a limit: add --fail-on regression=3%".to_owned());
        }
        Ok(combined)
    }

    /// Adds the conditions of a stored run, which also apply after it is resumed.
    pub(crate) fn add_stored(&mut self, settings: &Settings) {
        if let (None, Some(share)) = (self.regression(), settings.regression) {
            self.tolerances.push(Tolerance { metric: None, limit: Limit::Relative(share) });
        }
        self.undecided |= settings.fail_on_undecided;
        let is_new = |stored: &&Tolerance| self.tolerances.iter().all(|t| t.metric != stored.metric);
        let stored: Vec<Tolerance> = settings.tolerances.iter().filter(is_new).cloned().collect();
        self.tolerances.extend(stored);
    }

    /// The limits of named metrics, which are stored with a run.
    pub(crate) fn of_named_metrics(&self) -> Vec<Tolerance> {
        self.tolerances.iter().filter(|t| t.metric.is_some()).cloned().collect()
    }

    /// The relative limit of the primary metric, which also decides when a run may stop.
    pub(crate) fn regression(&self) -> Option<f64> {
        primary_limit(&self.tolerances)
    }

    /// Checks that the workload has the metrics.
    pub(crate) fn check(&self, workload: &Workload) -> Result<(), ManifestError> {
        self.tolerances
            .iter()
            .filter_map(|t| t.metric.as_ref())
            .try_for_each(|name| workload.metric(name).map(drop))
    }

    /// The exit code of a run that has ended. Failed cells precede the conditions; without a claim, there are none.
    pub(crate) fn code_after(&self, report: &Report, claim: Option<RegressionClaim>, is_missing: bool) -> u8 {
        match (code_of(report), claim) {
            (GOOD, Some(claim)) => self.code(claim, is_missing),
            (code, _) => code,
        }
    }

    /// The exit code of a comparison. A regression precedes missing values.
    pub(crate) fn code(&self, claim: RegressionClaim, is_missing: bool) -> u8 {
        match claim {
            RegressionClaim::Regression => REGRESSION,
            _ if is_missing => MISSING,
            RegressionClaim::Undecided if self.undecided => REGRESSION,
            RegressionClaim::Undecided | RegressionClaim::NoRegression => GOOD,
        }
    }
}

#[cfg(test)]
#[path = "fail_conditions_tests.rs"]
mod tests;
