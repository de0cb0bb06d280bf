//! Progress of a run: one updated line on a terminal, plain lines otherwise.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::plain_progress::PlainProgress;
use super::render;
use crate::cli::ReportFormat;
use netdyno_lab_engine::build::BuildEvent;
use netdyno_lab_engine::run::{Display, Position};
use netdyno_lab_engine::trial;
use netdyno_lab_store::Run;

/// Without a terminal, a window longer than this is announced with its length.
const LONG_WINDOW: Duration = Duration::from_secs(5);
/// Nothing is printed during a window up to this length. In longer windows, one line every ten seconds has no visible effect on the
/// figures.
const QUIET_MAX: Duration = Duration::from_secs(10);

/// A spinner on stderr, or lines. A separate thread draws the spinner a few times per second. Nothing is drawn during a measured
/// window.
enum Output {
    Terminal(ProgressBar),
    Plain(PlainProgress),
}

/// The place of a run in a series of short ones, and how its own position is described.
pub(super) struct Series {
    pub(super) place: String,
    pub(super) so_far: fn(&Position<'_>) -> String,
}

/// The progress of a run. In a series, its position is shown on a terminal only, and there is no first look.
pub(super) struct Progress {
    output: Output,
    series: Option<Series>,
    /// The contenders that are being built.
    building: Vec<String>,
}

impl Progress {
    pub(super) fn new() -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress::with(Output::Plain(PlainProgress::stderr()));
        }
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(style);
        Progress::with(Output::Terminal(bar))
    }

    fn with(output: Output) -> Progress {
        Progress { output, series: None, building: Vec::new() }
    }

    pub(super) fn of_series(series: Series) -> Progress {
        Progress { series: Some(series), ..Progress::new() }
    }

    /// Prints a permanent line and stops the spinner.
    pub(super) fn note(&self, text: &str) {
        match &self.output {
            Output::Terminal(bar) => {
                bar.disable_steady_tick();
                bar.println(super::for_stderr(text));
            }
            Output::Plain(lines) => {
                lines.rest();
                lines.print_line(text);
            }
        }
    }

    /// Without a terminal, repeats the names of the running builds until the next event.
    fn announce_builds(&self) {
        if let Output::Plain(lines) = &self.output {
            match self.building.join(" and ") {
                names if names.is_empty() => lines.rest(),
                names => lines.doing(format!("building {names}")),
            }
        }
    }

    /// Shows the current activity, on a terminal only.
    fn show(&self, text: String) {
        if let Output::Terminal(bar) = &self.output {
            bar.disable_steady_tick();
            show(bar, text);
        }
    }
}

impl Display for Progress {
    fn building(&mut self, contender: &str, index: usize, count: usize, event: &BuildEvent) {
        let place = format!("build {} of {count}: {contender}", index + 1);
        let is_new = !self.building.iter().any(|name| name == contender);
        if matches!(event, BuildEvent::Finished { .. }) {
            self.building.retain(|name| name != contender);
        } else if is_new {
            self.building.push(contender.to_owned());
        }
        match (event, &self.output) {
            (BuildEvent::Finished { cached: false, seconds }, _) => {
                self.note(&format!("{place}: built in {seconds:.0} s"));
            }
            (BuildEvent::Finished { cached: true, .. }, Output::Terminal(bar)) => {
                show(bar, format!("{place}: from the cache"));
            }
            (BuildEvent::Started, Output::Terminal(bar)) => {
                bar.enable_steady_tick(Duration::from_millis(200));
                show(bar, place);
            }
            (BuildEvent::Line(line), Output::Terminal(bar)) => show(bar, format!("{place}: {line}")),
            (BuildEvent::Started, Output::Plain(lines)) => lines.print_line(&place),
            // Before `Started`, it waits for another build.
            (BuildEvent::Line(line), Output::Plain(lines)) if is_new => {
                lines.print_line(&format!("{place}: {line}"));
            }
            (BuildEvent::Line(_), Output::Plain(_)) => return,
            (BuildEvent::Finished { cached: true, .. }, Output::Plain(_)) => {}
        }
        self.announce_builds();
    }

    /// On stderr, like all progress: stdout is reserved for the final report.
    fn first_look(&mut self, run: &Run, how_far: &str) {
        if self.series.is_some() {
            return;
        }
        let table = match render(run, ReportFormat::Table) {
            Ok((_, table)) => table,
            Err(error) => format!("{error}\n"),
        };
        let text = format!("\nFirst look: {how_far}\n{table}");
        match &self.output {
            Output::Terminal(bar) => bar.suspend(|| {
                let _ = writeln!(anstream::stderr(), "{text}");
            }),
            Output::Plain(lines) => {
                lines.rest();
                lines.print_line(&text);
            }
        }
    }

    fn left_out(&mut self, contender: &str, reason: &str) {
        self.building.retain(|name| name != contender);
        self.note(&format!("{contender} skipped: {reason}"));
        self.announce_builds();
    }

    fn trial(&mut self, at: &Position<'_>, progress: trial::Progress) {
        let doing = match progress {
            trial::Progress::Launching => "launching",
            trial::Progress::Connecting => "connecting",
            trial::Progress::Verifying => "verifying",
            trial::Progress::WarmingUp => "warming up",
            trial::Progress::Measuring => "measuring",
            trial::Progress::Stopping => "stopping",
        };
        match (&self.series, &self.output) {
            (Some(Series { place, so_far }), _) => self.show(format!("{place} · {}", so_far(at))),
            (None, Output::Terminal(_)) => {
                self.show(format!("{} · {doing} · {}", place(at), time_left(at)));
            }
            (None, Output::Plain(lines)) => tell(lines, at, progress, doing),
        }
    }

    fn warning(&mut self, text: &str) {
        self.note(&format!("warning: {text}"));
    }

    fn failed(&mut self, label: &str, reason: &str) {
        self.note(&format!("{label} failed: {}", netdyno_lab_analysis::report::plain(reason)));
    }

    fn end(&mut self) {
        match &self.output {
            Output::Terminal(bar) => bar.finish_and_clear(),
            Output::Plain(lines) => lines.rest(),
        }
    }
}

fn show(bar: &ProgressBar, text: String) {
    bar.set_message(text);
    bar.tick();
}

/// Prints a line at the start of each block, of each long trial, and after a long silence.
fn tell(lines: &PlainProgress, at: &Position<'_>, progress: trial::Progress, doing: &str) {
    let begins = progress == trial::Progress::Launching;
    let is_quiet = progress == trial::Progress::Measuring && at.window <= QUIET_MAX;
    if begins && at.trial == 0 {
        lines.print_line(&format!("{}: {} trials, {}", block(at), at.trials, time_left(at)));
    }
    if begins && at.window > LONG_WINDOW {
        lines.print_line(&format!("{} · measures for {:.0} s", place(at), at.window.as_secs_f64()));
    } else if lines.is_silent() || is_quiet && lines.silence() + at.window > QUIET_MAX {
        lines.print_line(&format!("{} · {doing}", place(at)));
    }
    if is_quiet {
        // No thread wakes up during the window.
        lines.rest();
    } else {
        lines.doing(format!("{doing} {}", at.label));
    }
}

fn block(at: &Position<'_>) -> String {
    let unit = if at.in_duels { "session" } else { "block" };
    format!("{unit} {} of at most {}", at.block + 1, at.max_blocks)
}

fn place(at: &Position<'_>) -> String {
    format!("{} · {} of {} · {}", block(at), at.trial + 1, at.trials, at.label)
}

fn time_left(at: &Position<'_>) -> String {
    let whole = (at.budget_s - at.elapsed_s).max(0.0).round() as u64;
    match whole {
        s if s >= 120 => format!("at most {} min left", s.div_ceil(60)),
        s => format!("at most {s} s left"),
    }
}
