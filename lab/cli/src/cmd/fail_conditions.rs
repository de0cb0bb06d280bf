//! `--fail-on`: converts claims to an exit code.

use super::{GOOD, MISSING, REGRESSION};
use crate::cli::FailOn;
use netdyno_lab_analysis::comparison::{Limit, Tolerance, primary_limit};
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

    /// The exit code. A regression precedes missing values.
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
mod tests {
    use super::*;

    #[test]
    fn a_stored_run_keeps_its_conditions() {
        let mut settings = netdyno_lab_store::fixture::run(&[], None).header.settings;
        let mut conditions = FailConditions::default();
        conditions.add_stored(&settings);
        assert_eq!(conditions, FailConditions::default());
        (settings.regression, settings.fail_on_undecided) = (Some(0.03), true);
        let stored: Settings = serde_json::from_str(&serde_json::to_string(&settings).unwrap()).unwrap();
        conditions.add_stored(&stored);
        assert_eq!(conditions, FailConditions::new(&[FailOn::Undecided, FailOn::loss(None, 0.03)]).unwrap());
    }

    #[test]
    fn undecided_fails_only_on_request_and_missing_values_always() {
        let lenient = FailConditions::new(&[FailOn::loss(None, 0.03)]).unwrap();
        let strict = FailConditions::new(&[FailOn::Undecided, FailOn::loss(None, 0.03)]).unwrap();
        for (claim, is_missing, codes) in [
            (RegressionClaim::Regression, false, [REGRESSION, REGRESSION]),
            (RegressionClaim::Regression, true, [REGRESSION, REGRESSION]),
            (RegressionClaim::Undecided, false, [GOOD, REGRESSION]),
            (RegressionClaim::Undecided, true, [MISSING, MISSING]),
            (RegressionClaim::NoRegression, false, [GOOD, GOOD]),
            (RegressionClaim::NoRegression, true, [MISSING, MISSING]),
        ] {
            let found = [lenient.code(claim, is_missing), strict.code(claim, is_missing)];
            assert_eq!(found, codes, "{claim:?} {is_missing}");
        }
        let error = FailConditions::new(&[FailOn::Undecided]).unwrap_err();
        assert!(error.contains("add --fail-on regression=3%"), "{error}");
        assert_eq!(FailConditions::new(&[]).unwrap(), FailConditions::default());
        let last = FailConditions::new(&[FailOn::loss(None, 0.03), FailOn::loss(None, 0.05)]).unwrap();
        assert_eq!(last.regression(), Some(0.05));
    }
}
