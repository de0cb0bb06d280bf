//! The report of a run as one value: [`build`] computes a [`Report`] from the stored rows.

mod build;
pub mod format;
mod in_turns;
mod model;

pub use crate::effects::{Effect, Effects};
pub use build::{build, described, differing, differing_params};
pub use format::{bytes, plain, ratio, value, whole};
pub use in_turns::lines as turn_notes;
pub use model::{Cell, CurvePoint, InTurns, MetricValue, Report, RunInfo, SCHEMA_VERSION};

/// The JSON Schema of a report.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Report)
}

/// Formats a report as JSON, ending in a newline.
pub fn json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report is serialisable");
    text.push('\n');
    text
}
