//! The verbs. Each is a file with one `run` function.

pub mod check;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod export;
pub(crate) mod fail_conditions;
pub mod history;
pub mod import;
pub mod list;
pub mod new;
pub mod place;
mod plain_progress;
pub mod plot;
mod progress;
pub mod prune;
pub mod replay;
pub mod replicate;
pub mod resolve_run;
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

use crate::cli::{ASK, ReportFormat};
use netdyno_lab_analysis::report::Report;
use netdyno_lab_engine::build::{BuildError, Builder};
use netdyno_lab_manifest::{Catalog, find_root};
use netdyno_lab_report::pages::Studies;
use netdyno_lab_store::Printed;
use netdyno_lab_store::{CellStatus, Run, Store, StoreError};

/// Success.
pub const GOOD: u8 = 0;
/// A contender differs from itself more often than the false-positive rate permits, or a verdict differs from the stored one.
pub const DIFFERS: u8 = 1;
/// A usage or environment error.
pub const USAGE: u8 = 2;
/// A cell failed.
pub const CELL_FAILED: u8 = 3;
/// Nothing could run.
pub const NOTHING_RAN: u8 = 4;
/// A regression beyond the limit of `--fail-on`.
pub const REGRESSION: u8 = 5;
/// A limit of `--fail-on` could not be tested, because values are missing.
pub const MISSING: u8 = 6;
/// Interrupted by Ctrl-C: 128 + SIGINT, the convention of shells.
pub const INTERRUPTED: u8 = 130;

/// The result of a verb: an exit code, or an error that is printed and becomes [`USAGE`].
pub type CommandResult = Result<u8, Box<dyn std::error::Error>>;

/// Logs to stderr at the level of `NETDYNO_LOG` (error, warn, info, debug, trace; default: warn).
pub fn log_as_asked() {
    let asked = std::env::var("NETDYNO_LOG").ok();
    let level = asked.as_deref().and_then(|l| l.parse().ok()).unwrap_or(tracing::Level::WARN);
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false).init();
}

/// The command line as runs store it: without the folder of the program, which is the user's own business, and without the
/// internal option [`ASK`].
pub(crate) fn command_line() -> Vec<String> {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(name) = words.first().and_then(|program| Path::new(program).file_name()) {
        words[0] = name.to_string_lossy().into_owned();
    }
    if let Some(at) = words.iter().position(|word| word == ASK) {
        words.drain(at..words.len().min(at + 2));
    }
    words
}

/// Prints to stdout, with colour only if stdout supports it. A closed pipe is not an error.
pub(crate) fn print(text: &str) {
    let _ = write!(anstream::stdout(), "{text}");
}

/// Prints a sentence to stdout, wrapped.
pub(crate) fn print_line(text: &str) {
    print(&format!("{}\n", netdyno_lab_report::wrapped(text, netdyno_lab_report::columns(), "", "  ")));
}

/// Prints a progress message or a note to stderr.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", for_stderr(text));
}

/// Wraps text to the width of the terminal on stderr; leaves it unwrapped if stderr is not a terminal.
fn for_stderr(text: &str) -> String {
    netdyno_lab_report::error_columns()
        .map_or_else(|| text.to_owned(), |width| netdyno_lab_report::wrapped(text, width, "", "  "))
}

/// Loads the catalogue and prints a warning for each broken manifest. Manifests `named` on the command line get no warning:
/// they become errors.
pub(crate) fn catalog(named: &[&str]) -> Result<Catalog, Box<dyn std::error::Error>> {
    let catalog = quiet_catalog()?;
    for problem in catalog.problems_beside(named) {
        tell(&format!("warning: {problem}"));
    }
    Ok(catalog)
}

/// Loads the catalogue without warnings, for verbs that report broken manifests themselves.
pub(crate) fn quiet_catalog() -> Result<Catalog, Box<dyn std::error::Error>> {
    place::catalog(&Builder::default_cache()?)
}

/// The studies in the named folder, else those of the checkout, if there is one.
fn studies(named: Option<&Path>) -> Option<Studies> {
    let of_checkout = || Some(find_root().ok()??.join("docs/studies")).filter(|folder| folder.is_dir());
    named.map(Path::to_owned).or_else(of_checkout).map(|folder| Studies::new(&folder))
}

pub(crate) fn builder(catalog: &Catalog, cancel: &Arc<AtomicBool>) -> Result<Builder, BuildError> {
    Builder::new(&Builder::default_cache()?, &catalog.root, Arc::clone(cancel))
}

/// A flag that SIGINT and SIGTERM set; a second signal ends the program at once. Child processes end when their pipes to this
/// process close.
pub(crate) fn cancel_on_signal() -> std::io::Result<Arc<AtomicBool>> {
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let code = i32::from(INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&cancel))?;
        signal_hook::flag::register(signal, Arc::clone(&cancel))?;
    }
    Ok(cancel)
}

/// The report of a stored run, with its text in the given format.
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

/// Stores the printed verdicts with the run, for `replay`.
pub(crate) fn keep_printed(store: &mut Store, report: &Report) -> Result<(), StoreError> {
    store.keep_printed(&report.run.id, &Printed::of(&report.verdicts).to_json())
}

/// The exit code for a report.
pub(crate) fn code_of(report: &Report) -> u8 {
    // A successful ceiling does not count unless only ceilings were measured.
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

/// Converts the end of an internal verb, which runs until its stdin closes, to the program's exit code.
pub fn exit_internal(verb: &str, ended: std::io::Result<()>) -> ExitCode {
    ended.map_or_else(
        |error| {
            eprintln!("netdyno {verb}: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Converts an outcome to the program's exit code, printing the error if there is one.
pub fn exit(outcome: CommandResult) -> ExitCode {
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
