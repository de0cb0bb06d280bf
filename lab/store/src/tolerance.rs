//! Conditions of `--fail-on`, which are stored with a run so that it has the same exit code after it is resumed.

use netdyno_lab_manifest::Metric;
use serde::{Deserialize, Serialize};

/// A condition of `--fail-on`: the tolerated loss in a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tolerance {
    /// The metric; `None` for the primary one.
    pub metric: Option<String>,
    /// The limit.
    pub limit: Limit,
}

/// A tolerated loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Relative loss, tested with the confidence interval: 0.03 is 3 %.
    Relative(f64),
    /// Absolute change for the worse, compared as it was measured: for counts.
    Absolute(f64),
}

impl Tolerance {
    /// Whether it applies to a metric.
    pub fn applies_to(&self, metric: &Metric) -> bool {
        self.metric.as_ref().map_or(metric.primary, |name| *name == metric.name)
    }
}
