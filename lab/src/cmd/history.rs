//! `netdyno history`.

use super::{GOOD, Outcome, print};
use crate::cli::{Format, HistoryArgs};
use crate::report::grid;
use crate::store::Store;

/// Lists the stored runs, newest first.
///
/// # Errors
/// When the store cannot be read.
pub fn run(args: &HistoryArgs) -> Outcome {
    let store = Store::open(&Store::default_path())?;
    let runs = store.runs(args.most)?;
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            let h = &run.header;
            let preset = h.settings.preset.clone().unwrap_or_default();
            let state = if run.stopped_because.is_empty() {
                run.status.as_str().to_owned()
            } else {
                format!("{}: {}", run.status.as_str(), run.stopped_because)
            };
            vec![h.id.clone(), h.workload.clone(), preset, state, h.command.join(" ")]
        })
        .collect();
    let head = ["run", "workload", "preset", "state", "command"].map(str::to_owned);
    match args.format {
        Format::Json => {
            let list: Vec<serde_json::Value> = rows
                .iter()
                .map(|row| head.iter().cloned().zip(row.iter().map(|c| serde_json::json!(c))).collect())
                .collect();
            print(&format!("{}\n", serde_json::to_string_pretty(&list)?));
        }
        Format::Table | Format::Markdown if rows.is_empty() => print("no runs yet: netdyno run WORKLOAD\n"),
        Format::Table => print(&format!("{}\n", grid(&head, rows.iter()))),
        Format::Markdown => print(&crate::report::markdown_table(&head, &rows)),
    }
    Ok(GOOD)
}
