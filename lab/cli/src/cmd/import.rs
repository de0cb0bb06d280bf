//! `netdyno import`.

use std::fs::File;
use std::path::Path;

use super::export::summary;
use super::{GOOD, Outcome, say};
use crate::cli::ImportArgs;
use netdyno_lab_store::export::{self, Exported};
use netdyno_lab_store::{Imported, Store};

/// Adds runs from files to the store, each completely or not at all. Files before a rejected one stay imported.
///
/// # Errors
/// If a file is not an exported run, or the store has a different run with the same id.
pub fn run(args: &ImportArgs) -> Outcome {
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
        say(&format!("{}: {word}: {}", file.display(), summary(run)));
    }
    Ok(GOOD)
}

/// Reads an exported run; `-` is stdin.
pub(super) fn read(file: &Path) -> Result<Exported, String> {
    let read = if file == Path::new("-") {
        export::read(std::io::stdin().lock())
    } else {
        File::open(file).map_err(export::ExportError::Io).and_then(export::read)
    };
    read.map_err(|e| format!("{} {e}", file.display()))
}
