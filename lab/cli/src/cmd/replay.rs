//! `netdyno replay`.

use std::path::Path;

use super::export::{printed, summary};
use super::import::read;
use super::{DIFFERS, GOOD, Outcome, print, say};
use crate::cli::ReplayArgs;
use netdyno_lab_report::{self, wrapped};
use netdyno_lab_store::Store;
use netdyno_lab_store::export::Exported;

/// Recomputes the verdicts of a file or a stored run and compares them with the stored ones.
///
/// # Errors
/// If there is no such file or run, or it cannot be read.
pub fn run(args: &ReplayArgs) -> Outcome {
    let file = Path::new(&args.what);
    let (run, printed) = if file.exists() {
        let Exported { run, printed } = read(file)?;
        (run, Some(printed))
    } else {
        let store = Store::open(&Store::default_path())?;
        let id = store.find(&args.what).map_err(|e| format!("{e}; no file of that name either"))?;
        (store.load(&id)?, printed(&store, &id)?)
    };
    let report = netdyno_lab_analysis::report::build(&run)?;
    let computed = format!("{}: {} verdicts recomputed", summary(&run), report.verdicts.len());
    let Some(printed) = printed else {
        say(&format!(
            "{computed}; no stored verdicts to compare with (the run did not finish, or is of an older netdyno)"
        ));
        return Ok(GOOD);
    };
    let differences = printed.differences(&report.verdicts);
    let by = format!("by netdyno {}", printed.netdyno);
    if differences.is_empty() {
        say(&format!("{computed}, all identical to those printed {by}"));
        return Ok(GOOD);
    }
    say(&format!("{computed}, {} different from those printed {by}:", differences.len()));
    let width = netdyno_lab_report::columns();
    differences.iter().for_each(|line| print(&format!("{}\n", wrapped(line, width, "  ", "    "))));
    Ok(DIFFERS)
}
