//! `netdyno replay`.

use super::export::summary;
use super::import::load;
use super::{CommandResult, DIFFERS, GOOD, print, print_line};
use crate::cli::ReplayArgs;
use netdyno_lab_report::{self, wrapped};

/// Recomputes the verdicts of a file or a stored run and compares them with the stored ones.
pub(crate) fn run(args: &ReplayArgs) -> CommandResult {
    let (run, printed) = load(&args.what)?;
    let report = netdyno_lab_analysis::report::build(&run)?;
    let computed = format!("{}: {} verdicts recomputed", summary(&run), report.verdicts.len());
    let Some(printed) = printed else {
        print_line(&format!(
            "{computed}; no stored verdicts to compare with (the run did not finish, or an older netdyno measured it)"
        ));
        return Ok(GOOD);
    };
    let differences = printed.differences(&report.verdicts);
    let by = format!("by netdyno {}", printed.netdyno);
    if differences.is_empty() {
        print_line(&format!("{computed}, all identical to those printed {by}"));
        return Ok(GOOD);
    }
    print_line(&format!("{computed}, {} different from those printed {by}:", differences.len()));
    let width = netdyno_lab_report::columns();
    differences.iter().for_each(|line| print(&format!("{}\n", wrapped(line, width, "  ", "    "))));
    Ok(DIFFERS)
}
