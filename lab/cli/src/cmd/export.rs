//! `netdyno export`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{CommandResult, Fallible, GOOD, print_line};
use crate::cli::ExportArgs;
use netdyno_lab_store::export::{self, Exported};
use netdyno_lab_store::{Printed, Run, Store};

/// Writes a stored run and its printed verdicts to a file.
pub(crate) fn run(args: &ExportArgs) -> CommandResult {
    let store = Store::open(&Store::default_path())?;
    let id = store.find(&args.run)?;
    let run = store.load(&id)?;
    let printed = match printed(&store, &id)? {
        Some(printed) => printed,
        // Older versions did not store the verdicts: compute them.
        None => Printed::of(&netdyno_lab_analysis::report::build(&run)?.verdicts),
    };
    let exported = Exported { run, printed };
    match args.output.as_deref() {
        Some(output) if output == Path::new("-") => export::write(&exported, std::io::stdout().lock())?,
        output => {
            let file = output.map_or_else(|| PathBuf::from(format!("{id}.netdyno")), Path::to_owned);
            write(&exported, &file).map_err(|e| format!("{}: {e}", file.display()))?;
            print_line(&format!("{}: {}", file.display(), summary(&exported.run)));
        }
    }
    Ok(GOOD)
}

/// The printed verdicts of a stored run, if they were stored.
pub(super) fn printed(store: &Store, id: &str) -> Fallible<Option<Printed>> {
    Ok(store.printed(id)?.map(|text| serde_json::from_str(&text)).transpose()?)
}

/// `run 20260131-120000-ab12, datachannel, 12 cells, 96 trials`.
pub(super) fn summary(run: &Run) -> String {
    let (id, workload) = (&run.header.id, &run.header.workload);
    format!("run {id}, {workload}, {} cells, {} trials", run.cells.len(), run.trials.len())
}

/// Writes to a temporary name first, so that a file of this name is always complete.
fn write(exported: &Exported, file: &Path) -> std::io::Result<()> {
    // Devices and pipes are written to directly.
    if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        return export::write(exported, File::options().write(true).open(file)?);
    }
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let written = File::create(&partial).and_then(|to| {
        let mut to = BufWriter::new(to);
        export::write(exported, &mut to)?;
        to.flush()?;
        to.get_ref().sync_all()?;
        fs::rename(&partial, file)
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}
