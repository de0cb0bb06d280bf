//! `netdyno import`.

use std::fs::File;
use std::path::Path;

use super::export::{printed, summary};
use super::{CommandResult, Fallible, GOOD, print_line};
use crate::cli::ImportArgs;
use netdyno_lab_store::export::{self, Exported};
use netdyno_lab_store::{Imported, Printed, Run, Store};

/// Adds runs from files to the store, each completely or not at all. Files before a rejected one stay imported.
pub(crate) fn run(args: &ImportArgs) -> CommandResult {
    let mut store = Store::open(&Store::default_path())?;
    for file in &args.files {
        let exported = read(file)?;
        let Exported { run, printed } = &exported;
        let imported =
            store.import(run, &printed.to_json()).map_err(|e| format!("{}: {e}", file.display()))?;
        let word = match imported {
            Imported::Added => "imported",
            Imported::AlreadyThere => "already in the store",
        };
        print_line(&format!("{}: {word}: {}", file.display(), summary(run)));
    }
    Ok(GOOD)
}

/// A run and its printed verdicts, from an exported file or, if there is no file of that name, from the store.
pub(super) fn load(name: &str) -> Fallible<(Run, Option<Printed>)> {
    let file = Path::new(name);
    if file.is_file() {
        let Exported { run, printed } = read(file)?;
        return Ok((run, Some(printed)));
    }
    let store = Store::open(&Store::default_path())?;
    let id = store.find(name).map_err(|e| format!("{e}; no file of that name either"))?;
    Ok((store.load(&id)?, printed(&store, &id)?))
}

/// Reads an exported run; `-` is stdin.
fn read(file: &Path) -> Result<Exported, String> {
    let read = if file == Path::new("-") {
        export::read(std::io::stdin().lock())
    } else {
        File::open(file).map_err(export::ExportError::Io).and_then(export::read)
    };
    read.map_err(|e| format!("{} {e}", file.display()))
}
