//! `netdyno history`.

use serde_json::json;

use super::{GOOD, Outcome, print};
use crate::cli::{Format, HistoryArgs};
use crate::report::{columns, grid, markdown_table};
use crate::store::{Listed, Listing, Store};

/// Limit of contenders named per run; the others are counted.
const NAMED: usize = 4;

/// Lists the stored runs, newest first.
///
/// # Errors
/// If the store cannot be read.
pub fn run(args: &HistoryArgs) -> Outcome {
    let store = Store::open(&Store::default_path())?;
    let runs = store.list(Listing::newest(args.most))?;
    let head = ["run", "workload", "preset", "state", "contenders"].map(str::to_owned);
    match args.format {
        Format::Json => {
            let list: Vec<serde_json::Value> = runs.iter().map(as_json).collect();
            print(&format!("{}\n", serde_json::to_string_pretty(&list)?));
        }
        Format::Table | Format::Markdown if runs.is_empty() => print("no runs yet: netdyno run WORKLOAD\n"),
        Format::Table => {
            let command = |run: &Listed| format!("{}\n{}", some_of(&run.contenders), command(run));
            let rows: Vec<_> = runs.iter().map(|run| row(run, command(run))).collect();
            print(&format!("{}\n", grid(&head, &rows, columns())));
        }
        Format::Markdown => {
            let rows: Vec<_> = runs.iter().map(|run| row(run, some_of(&run.contenders))).collect();
            print(&markdown_table(&head, &rows));
        }
    }
    Ok(GOOD)
}

fn row(run: &Listed, last: String) -> Vec<String> {
    vec![run.id.clone(), run.workload.clone(), run.preset.clone(), state(run), last]
}

fn as_json(run: &Listed) -> serde_json::Value {
    json!({
        "run": run.id, "workload": run.workload, "preset": run.preset, "state": state(run),
        "contenders": run.contenders, "command": run.command.join(" "),
    })
}

/// The status of a run, and the reason for it.
pub(crate) fn state(run: &Listed) -> String {
    match run.stopped_because.as_str() {
        "" => run.status.as_str().to_owned(),
        why => format!("{}: {why}", run.status.as_str()),
    }
}

/// The command as typed, without the path of the program.
fn command(run: &Listed) -> String {
    let arguments = run.command.iter().skip(1).map(String::as_str);
    ["netdyno"].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

/// `pion, rustrtc`, or the first few and how many more.
pub(crate) fn some_of(names: &[String]) -> String {
    match names.len() {
        n if n > NAMED + 1 => format!("{} and {} more", names[..NAMED].join(", "), n - NAMED),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_contenders_is_counted() {
        for (names, text) in [
            (&["a"][..], "a"),
            (&["a", "b", "c", "d", "e"], "a, b, c, d, e"),
            (&["a", "b", "c", "d", "e", "f"], "a, b, c, d and 2 more"),
            (&[], ""),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(some_of(&names), text);
        }
    }
}
