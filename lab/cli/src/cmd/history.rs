//! `netdyno history`.

use serde_json::json;

use super::{CommandResult, GOOD, print};
use crate::cli::{Format, HistoryArgs};
use netdyno_lab_report::listed::{abbreviated, state};
use netdyno_lab_report::{columns, grid, markdown_table};
use netdyno_lab_store::{Listed, Listing, Store};

/// Lists the stored runs, newest first.
pub(crate) fn run(args: &HistoryArgs) -> CommandResult {
    let store = Store::open(&Store::default_path())?;
    let runs = store.list(Listing::newest(args.most))?;
    // A run whose process was killed remains marked as running.
    let state_of = |run: &Listed| state(run, store.is_measured(&run.id));
    let head = ["run", "workload", "preset", "state", "contenders"].map(str::to_owned);
    match args.format {
        Format::Json => {
            let list: Vec<serde_json::Value> = runs.iter().map(|run| as_json(run, &state_of(run))).collect();
            print(&format!("{}\n", serde_json::to_string_pretty(&list)?));
        }
        Format::Table | Format::Markdown if runs.is_empty() => print("no runs yet: netdyno run WORKLOAD\n"),
        Format::Table => {
            let command = |run: &Listed| format!("{}\n{}", abbreviated(&run.contenders), command(run));
            let rows: Vec<_> = runs.iter().map(|run| row(run, state_of(run), command(run))).collect();
            print(&format!("{}\n", grid(&head, &rows, columns())));
        }
        Format::Markdown => {
            let rows: Vec<_> =
                runs.iter().map(|run| row(run, state_of(run), abbreviated(&run.contenders))).collect();
            print(&markdown_table(&head, &rows));
        }
    }
    Ok(GOOD)
}

fn row(run: &Listed, state: String, last: String) -> Vec<String> {
    vec![run.id.clone(), run.workload.clone(), run.preset.clone(), state, last]
}

fn as_json(run: &Listed, state: &str) -> serde_json::Value {
    json!({
        "run": run.id, "workload": run.workload, "preset": run.preset, "state": state,
        "contenders": run.contenders, "command": run.command.join(" "),
    })
}

/// The command as typed, without the path of the program.
fn command(run: &Listed) -> String {
    let arguments = run.command.iter().skip(1).map(String::as_str);
    ["netdyno"].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}
