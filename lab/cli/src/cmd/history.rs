//! `netdyno history`.

use serde_json::json;

use super::{CommandResult, GOOD, print, print_json};
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
    let rows = |contenders: &dyn Fn(&Listed) -> String| -> Vec<Vec<String>> {
        let row = |run: &Listed| {
            vec![run.id.clone(), run.workload.clone(), run.preset.clone(), state_of(run), contenders(run)]
        };
        runs.iter().map(row).collect()
    };
    match args.format {
        Format::Json => {
            let list: Vec<serde_json::Value> = runs.iter().map(|run| as_json(run, &state_of(run))).collect();
            print_json(&list)?;
        }
        Format::Table | Format::Markdown if runs.is_empty() => print("no runs yet: netdyno run WORKLOAD\n"),
        Format::Table => {
            let contenders = |run: &Listed| format!("{}\n{}", abbreviated(&run.contenders), command(run));
            print(&format!("{}\n", grid(&head, &rows(&contenders), columns())));
        }
        Format::Markdown => {
            print(&markdown_table(&head, &rows(&|run: &Listed| abbreviated(&run.contenders))));
        }
    }
    Ok(GOOD)
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
