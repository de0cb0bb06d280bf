//! The verbs. Each is a file with one `run` function.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fail_conditions;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod place;
mod plain_progress;
pub(crate) mod plot;
mod progress;
pub(crate) mod prune;
pub(crate) mod replay;
pub(crate) mod replicate;
pub(crate) mod resolve_run;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod site;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::{ASK, ReportFormat};
use netdyno_lab_analysis::report::{Cell, Report};
use netdyno_lab_engine::build::{BuildError, Builder};
use netdyno_lab_engine::run::{Display, Engine};
use netdyno_lab_manifest::{Catalog, find_root};
use netdyno_lab_report::pages::Studies;
use netdyno_lab_store::{CellStatus, Printed, Run, Store, StoreError};

pub(crate) const GOOD: u8 = 0;
/// A contender differs from itself more often than the false-positive rate permits, or a verdict differs from the stored one.
pub(crate) const DIFFERS: u8 = 1;
/// A usage or environment error.
pub(crate) const USAGE: u8 = 2;
pub(crate) const CELL_FAILED: u8 = 3;
pub(crate) const NOTHING_RAN: u8 = 4;
/// A regression beyond the limit of `--fail-on`.
pub(crate) const REGRESSION: u8 = 5;
/// A limit of `--fail-on` could not be tested, because values are missing.
pub(crate) const MISSING: u8 = 6;
/// Interrupted by Ctrl-C: 128 + SIGINT, the convention of shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// The result of a verb: an exit code, or an error that is printed and becomes [`USAGE`].
pub(crate) type CommandResult = Fallible<u8>;

/// Of a part of a verb; the error is one for the user.
pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Logs to stderr at the level of `NETDYNO_LOG` (error, warn, info, debug, trace; default: warn).
pub(crate) fn log_as_asked() {
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

/// Prints a value to stdout as JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), serde_json::Error> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?));
    Ok(())
}

/// Writes a file that the user named.
pub(crate) fn write_file(file: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(file, content).map_err(|e| format!("{}: {e}", file.display()))
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

/// The catalogue, the store and the builder of contenders, for verbs that measure.
pub(crate) struct Lab {
    pub(crate) catalog: Catalog,
    pub(crate) store: Store,
    pub(crate) builder: Builder,
    pub(crate) cancel: Arc<AtomicBool>,
}

impl Lab {
    /// Manifests `named` on the command line get no warning, as in [`catalog`].
    pub(crate) fn open(named: &[&str], cancel: Arc<AtomicBool>) -> Fallible<Lab> {
        let catalog = catalog(named)?;
        let store = Store::open(&Store::default_path())?;
        let builder = builder(&catalog, &cancel)?;
        Ok(Lab { catalog, store, builder, cancel })
    }

    pub(crate) fn engine<'a>(&'a mut self, display: &'a mut dyn Display) -> Engine<'a> {
        let Lab { catalog, store, builder, cancel } = self;
        Engine { catalog, store, builder, display, cancel }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Loads the catalogue and prints a warning for each broken manifest. Manifests `named` on the command line get no warning:
/// they become errors.
pub(crate) fn catalog(named: &[&str]) -> Fallible<Catalog> {
    let catalog = quiet_catalog()?;
    for problem in catalog.problems_beside(named) {
        tell(&format!("warning: {problem}"));
    }
    Ok(catalog)
}

/// Loads the catalogue without warnings, for verbs that report broken manifests themselves.
pub(crate) fn quiet_catalog() -> Fallible<Catalog> {
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

pub(crate) fn code_of(report: &Report) -> u8 {
    // A successful ceiling does not count unless only ceilings were measured.
    let bound_only = report.cells.iter().all(|c| c.ceiling);
    let counts = |c: &&Cell| !c.ceiling || bound_only || c.status != CellStatus::Ok;
    let any = |status| report.cells.iter().filter(counts).any(|c| c.status == status);
    match (any(CellStatus::Failed), any(CellStatus::Ok)) {
        (true, _) => CELL_FAILED,
        (false, true) => GOOD,
        (false, false) => NOTHING_RAN,
    }
}

/// Converts the end of an internal verb, which runs until its stdin closes, to the program's exit code.
pub(crate) fn exit_internal(verb: &str, ended: std::io::Result<()>) -> ExitCode {
    let Err(error) = ended else { return ExitCode::SUCCESS };
    eprintln!("netdyno {verb}: {error}");
    ExitCode::FAILURE
}

/// Converts an outcome to the program's exit code, printing the error if there is one.
pub(crate) fn exit(outcome: CommandResult) -> ExitCode {
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
