//! What a stored run says, for people and for programs.
//!
//! [`build`] turns a run into a [`Report`]; the other files write that one value as a table, JSON, Markdown or a page.

mod build;
mod effects;
pub(crate) mod format;
pub mod html;
mod in_turns;
mod layout;
mod markdown;
mod model;
pub mod plot;
mod table;
mod terminal;

#[cfg(test)]
mod tests;

pub use build::build;
pub(crate) use build::{described, differing, differing_params};
pub use format::{bytes, value};
pub(crate) use format::{ratio, whole};
pub(crate) use layout::blocks;
pub use layout::{columns, error_columns, grid, plain, wrapped};
pub(crate) use markdown::escape;
pub use markdown::{markdown, table as markdown_table};
pub use model::{
    Cell, CurvePoint, Effect, Effects, MetricValue, Report, RunInfo, SCHEMA_VERSION, Verdict, VerdictKind,
};
pub(crate) use table::sentence;
pub use terminal::terminal;

/// The JSON Schema of a report.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Report)
}

/// A report as JSON, ending in a newline.
#[must_use]
pub fn json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report holds nothing that JSON cannot");
    text.push('\n');
    text
}
