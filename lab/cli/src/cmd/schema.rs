//! `netdyno schema`.

use super::{CommandResult, GOOD, print};
use crate::cli::{SchemaArgs, SchemaOf};
use netdyno_lab_analysis::explain::Explanation;
use netdyno_lab_analysis::{claims, comparison};
use netdyno_lab_store::export;

/// Prints a JSON Schema.
pub fn run(args: &SchemaArgs) -> CommandResult {
    let of_protocol =
        |name: &str| netdyno_lab_protocol::schemas().into_iter().find(|(n, _)| *n == name).map(|(_, s)| s);
    let schema = match args.of {
        SchemaOf::Report => Some(netdyno_lab_analysis::report::schema()),
        SchemaOf::Comparison => Some(comparison::schema()),
        SchemaOf::Export => Some(export::schema()),
        SchemaOf::Replication => Some(schemars::schema_for!(claims::Replication)),
        SchemaOf::Explanation => Some(schemars::schema_for!(Explanation)),
        SchemaOf::LabMessage => of_protocol("lab-message"),
        SchemaOf::ContenderMessage => of_protocol("contender-message"),
    };
    print(&format!("{}\n", serde_json::to_string_pretty(&schema)?));
    Ok(GOOD)
}
