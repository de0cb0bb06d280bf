//! `netdyno history`.

use serde_json::json;

use super::{GOOD, Outcome, print};
use crate::cli::{Format, HistoryArgs};
use crate::report::{columns, grid, markdown_table};
use crate::store::{Run, Store};

/// Contenders of a run that are named; of the others it says how many.
const NAMED: usize = 4;

/// Lists the stored runs, newest first.
///
/// # Errors
/// When the store cannot be read.
pub fn run(args: &HistoryArgs) -> Outcome {
    let store = Store::open(&Store::default_path())?;
    let runs = store.runs(args.most)?;
    let head = ["run", "workload", "preset", "state", "contenders"].map(str::to_owned);
    match args.format {
        Format::Json => {
            let list: Vec<serde_json::Value> = runs.iter().map(as_json).collect();
            print(&format!("{}\n", serde_json::to_string_pretty(&list)?));
        }
        Format::Table | Format::Markdown if runs.is_empty() => print("no runs yet: netdyno run WORKLOAD\n"),
        Format::Table => {
            let command = |run: &Run| format!("{}\n{}", some_of(&contenders(run)), command(run));
            let rows: Vec<_> = runs.iter().map(|run| row(run, command(run))).collect();
            print(&format!("{}\n", grid(&head, &rows, columns())));
        }
        Format::Markdown => {
            let rows: Vec<_> = runs.iter().map(|run| row(run, some_of(&contenders(run)))).collect();
            print(&markdown_table(&head, &rows));
        }
    }
    Ok(GOOD)
}

fn row(run: &Run, last: String) -> Vec<String> {
    let h = &run.header;
    vec![h.id.clone(), h.workload.clone(), h.settings.preset.clone().unwrap_or_default(), state(run), last]
}

fn as_json(run: &Run) -> serde_json::Value {
    let h = &run.header;
    json!({
        "run": h.id, "workload": h.workload, "preset": h.settings.preset.clone().unwrap_or_default(),
        "state": state(run), "contenders": contenders(run), "command": h.command.join(" "),
    })
}

fn state(run: &Run) -> String {
    match run.stopped_because.as_str() {
        "" => run.status.as_str().to_owned(),
        why => format!("{}: {why}", run.status.as_str()),
    }
}

/// As it was typed, but for where the program stands.
fn command(run: &Run) -> String {
    let arguments = run.header.command.iter().skip(1).map(String::as_str);
    ["netdyno"].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Who plays a role in some cell, the bound left out, in the order of the cells.
fn contenders(run: &Run) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in run.cells.iter().filter(|c| !c.ceiling).flat_map(|c| c.compared().map(|(_, name)| name)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// `pion, rustrtc`, or the first few and how many more.
fn some_of(names: &[&str]) -> String {
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
            assert_eq!(some_of(names), text);
        }
    }
}
