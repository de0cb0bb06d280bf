//! The verbs, one file each, each with one `run`.

pub mod agent;
pub mod check;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod export;
mod gate;
pub mod history;
pub mod holder;
pub mod import;
mod lines;
pub mod list;
pub mod new;
pub mod place;
pub mod plot;
mod progress;
pub mod prune;
pub mod replay;
pub mod replicate;
pub mod run;
pub mod schema;
pub mod serve;
pub mod show;
pub mod site;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::cli::ReportFormat;
use netdyno_lab_analysis::report::Report;
use netdyno_lab_engine::build::{BuildError, Builder};
use netdyno_lab_manifest::{Catalog, find_root};
use netdyno_lab_report::pages::Studies;
use netdyno_lab_store::Printed;
use netdyno_lab_store::{CellStatus, Run, Store, StoreError};

/// Everything went well.
pub const GOOD: u8 = 0;
/// A contender differs from itself more often than verdicts may be wrong; a verdict is not what was printed.
pub const DIFFERS: u8 = 1;
/// The command line, or the environment, is at fault.
pub const USAGE: u8 = 2;
/// A cell failed.
pub const CELL_FAILED: u8 = 3;
/// Nothing could run.
pub const NOTHING_RAN: u8 = 4;
/// Slower than is put up with: `--fail-on`.
pub const REGRESSION: u8 = 5;
/// Ctrl-C, as shells have it: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// What a verb gives back: an exit code, or an error that is printed and becomes [`USAGE`].
pub type Outcome = Result<u8, Box<dyn std::error::Error>>;

/// Logs to stderr what `NETDYNO_LOG` asks for (error, warn, info, debug, trace); warnings unless it is set.
pub fn log_as_asked() {
    let asked = std::env::var("NETDYNO_LOG").ok();
    let level = asked.as_deref().and_then(|l| l.parse().ok()).unwrap_or(tracing::Level::WARN);
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false).init();
}

/// Prints to stdout, without colour where it is not wanted. A reader that went away is not an error.
pub(crate) fn print(text: &str) {
    let _ = write!(anstream::stdout(), "{text}");
}

/// A sentence on stdout.
pub(crate) fn say(text: &str) {
    print(&format!("{}\n", netdyno_lab_report::wrapped(text, netdyno_lab_report::columns(), "", "  ")));
}

/// A sentence on stderr: what goes on, or what else there is to know.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", for_stderr(text));
}

/// As wide as the terminal of stderr; whole in a log.
fn for_stderr(text: &str) -> String {
    netdyno_lab_report::error_columns()
        .map_or_else(|| text.to_owned(), |width| netdyno_lab_report::wrapped(text, width, "", "  "))
}

/// Reads the repository. Broken manifests are told, and do not stop the others; those that were `named` on the command
/// line are left to the error that they become.
pub(crate) fn catalog(named: &[&str]) -> Result<Catalog, Box<dyn std::error::Error>> {
    let catalog = quiet_catalog()?;
    for problem in catalog.problems_beside(named) {
        tell(&format!("warning: {problem}"));
    }
    Ok(catalog)
}

/// The same, for a verb that tells of broken manifests itself.
pub(crate) fn quiet_catalog() -> Result<Catalog, Box<dyn std::error::Error>> {
    place::catalog(&Builder::default_cache()?)
}

/// The studies of a folder; of the checkout's unless one is named, if there is one.
fn studies(named: Option<&Path>) -> Option<Studies> {
    let of_checkout = || Some(find_root().ok()??.join("docs/studies")).filter(|folder| folder.is_dir());
    named.map(Path::to_owned).or_else(of_checkout).map(|folder| Studies::of(&folder))
}

pub(crate) fn builder(catalog: &Catalog, cancel: &Arc<AtomicBool>) -> Result<Builder, BuildError> {
    Builder::new(&Builder::default_cache()?, &catalog.root, Arc::clone(cancel))
}

/// Becomes true on Ctrl-C or SIGTERM; a second Ctrl-C ends the program at once. What runs meanwhile hangs by pipes, and
/// ends with us.
pub(crate) fn cancel_on_signal() -> std::io::Result<Arc<AtomicBool>> {
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let code = i32::from(INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&cancel))?;
        signal_hook::flag::register(signal, Arc::clone(&cancel))?;
    }
    Ok(cancel)
}

/// A stored run in the format asked for.
pub(crate) fn render(run: &Run, format: ReportFormat) -> Result<(Report, String), StoreError> {
    let report = netdyno_lab_analysis::report::build(run)?;
    let workload = run.header.parsed_workload()?;
    let metrics = &workload.metrics;
    let text = match format {
        ReportFormat::Table => netdyno_lab_report::terminal(&report, metrics, netdyno_lab_report::columns()),
        ReportFormat::Json => netdyno_lab_analysis::report::json(&report),
        ReportFormat::Markdown => netdyno_lab_report::markdown(&report, metrics),
        ReportFormat::Html => netdyno_lab_report::html::page(&report, &workload),
    };
    Ok((report, text))
}

/// Keeps with a run what was printed of it, for `replay`.
pub(crate) fn keep_printed(store: &mut Store, report: &Report) -> Result<(), StoreError> {
    store.keep_printed(&report.run.id, &Printed::of(&report.verdicts).to_json())
}

/// The exit code that a report stands for.
pub(crate) fn code_of(report: &Report) -> u8 {
    // A bound alone is no answer, unless nothing else was asked for.
    let bound_only = report.cells.iter().all(|c| c.ceiling);
    let any = |status| {
        report
            .cells
            .iter()
            .any(|c| c.status == status && (!c.ceiling || bound_only || status != CellStatus::Ok))
    };
    match (any(CellStatus::Failed), any(CellStatus::Ok)) {
        (true, _) => CELL_FAILED,
        (false, true) => GOOD,
        (false, false) => NOTHING_RAN,
    }
}

/// An outcome as the program's exit code.
#[must_use]
pub fn exit(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            let red = anstyle::AnsiColor::Red.on_default().bold();
            let text = for_stderr(&format!("error: {e}"));
            let text = text.replacen("error:", &format!("{red}error:{red:#}"), 1);
            let _ = writeln!(anstream::stderr(), "{text}");
            ExitCode::from(USAGE)
        }
    }
}
