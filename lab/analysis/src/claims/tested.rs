//! The result of a claim by one method.

use serde::{Deserialize, Serialize};

use super::measured::Measured;
use super::region::{Finding, Region};
use super::size::Size;
use netdyno_lab_store::Relation;

/// Result of one method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tested {
    /// The method; empty: none.
    pub method: String,
    /// The metric: `throughput`.
    pub metric: String,
    /// Both sides: `a : b`.
    pub sides: String,
    /// The result.
    pub finding: Finding,
    /// Whether the order of the sides is as published; missing: equality is claimed.
    pub direction: Finding,
    /// Whether the ratio is as published; missing: none was published.
    pub size: Finding,
    /// The factor between the published ratio and the nearest end of the interval; null: inside, or none was published.
    pub size_distance: Option<f64>,
    /// The measured ratio.
    pub measured: Option<Measured>,
    /// Reason why there is none.
    pub why: String,
    /// If open: estimated number of further sessions or blocks for a decision.
    #[serde(default)]
    pub needs: Option<u32>,
}

impl Tested {
    pub(super) fn missing(method: &str, metric: String, sides: String, why: String) -> Self {
        Self { method: method.to_owned(), metric, sides, why, ..Self::default() }
    }

    /// Adds a measured ratio and its results.
    pub(super) fn with(self, relation: &Relation, measured: Measured, logs: &[f64], alpha: f64) -> Self {
        let (low, high) = (measured.low, measured.high);
        let region = match Region::new(relation) {
            Ok(region) => region,
            Err(why) => return Self { why, ..self },
        };
        let size = Size::new(relation);
        let finding = region.finding(low, high);
        Self {
            finding,
            direction: Region::direction(relation).map_or(Finding::Missing, |r| r.finding(low, high)),
            size: size.map_or(Finding::Missing, |size| size.finding(low, high)),
            size_distance: size.and_then(|size| size.distance(low, high)),
            needs: if finding == Finding::Open { region.needs(logs, alpha) } else { None },
            measured: Some(measured),
            ..self
        }
    }

    /// Rejects a result with remarks, which does not represent the contender.
    pub(super) fn strict(mut self) -> Self {
        let notes = self.measured.as_ref().map(|m| m.notes.join("; ")).filter(|notes| !notes.is_empty());
        if let Some(notes) = notes {
            (self.finding, self.why) = (Finding::Missing, notes);
            (self.direction, self.size, self.size_distance) = (Finding::Missing, Finding::Missing, None);
        }
        self
    }
}
