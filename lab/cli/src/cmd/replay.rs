//! `netdyno replay`.

use std::path::Path;

use super::export::{printed, told};
use super::import::read;
use super::{DIFFERS, GOOD, Outcome, print, say};
use crate::cli::ReplayArgs;
use netdyno_lab_report::{self, wrapped};
use netdyno_lab_store::Store;
use netdyno_lab_store::export::Exported;

/// Computes every verdict of a file or a stored run again, and says whether they are what was printed then.
///
/// # Errors
/// When there is no such file or run, or it cannot be read.
pub fn run(args: &ReplayArgs) -> Outcome {
    let file = Path::new(&args.what);
    let (run, printed) = if file.exists() {
        let Exported { run, printed } = read(file)?;
        (run, Some(printed))
    } else {
        let store = Store::open(&Store::default_path())?;
        let id = store.find(&args.what).map_err(|e| format!("{e}; nor is there a file of that name"))?;
        (store.load(&id)?, printed(&store, &id)?)
    };
    let report = netdyno_lab_analysis::report::build(&run)?;
    let computed = format!("{}: {} verdicts computed again", told(&run), report.verdicts.len());
    let Some(printed) = printed else {
        say(&format!(
            "{computed}; what was printed of it was not kept, it is a run of an older netdyno or one that did not end"
        ));
        return Ok(GOOD);
    };
    let differences = printed.differences(&report.verdicts);
    let by = format!("by netdyno {}", printed.netdyno);
    if differences.is_empty() {
        say(&format!("{computed}, all as they were printed {by}"));
        return Ok(GOOD);
    }
    say(&format!("{computed}, {} not as printed {by}:", differences.len()));
    let width = netdyno_lab_report::columns();
    differences.iter().for_each(|line| print(&format!("{}\n", wrapped(line, width, "  ", "    "))));
    Ok(DIFFERS)
}
