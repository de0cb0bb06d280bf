//! What the user sees while a run goes on: one line that changes on a terminal, nothing elsewhere but failures.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::build::BuildEvent;
use crate::run::{Display, Position};
use crate::trial;

/// A spinner on stderr. Its own thread draws it a few times a second, too seldom to be felt by what is measured; while a
/// window is measured it stands still.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(super) fn new() -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(style);
        Progress { bar }
    }

    fn say(&self, text: String) {
        self.bar.set_message(text);
        self.bar.tick();
    }

    /// A line that stays.
    fn note(&self, text: &str) {
        if self.bar.is_hidden() {
            eprintln!("{text}");
        } else {
            self.bar.println(text);
        }
    }
}

impl Display for Progress {
    fn building(&mut self, contender: &str, index: usize, count: usize, event: &BuildEvent) {
        let place = format!("build {} of {count} · {contender}", index + 1);
        match event {
            BuildEvent::Started => {
                self.bar.enable_steady_tick(Duration::from_millis(200));
                self.say(place);
            }
            BuildEvent::Line(line) => self.say(format!("{place} · {line}")),
            BuildEvent::Finished { cached: false, seconds } => {
                self.bar.disable_steady_tick();
                if !self.bar.is_hidden() {
                    self.note(&format!("built {contender} in {seconds:.0} s"));
                }
            }
            BuildEvent::Finished { cached: true, .. } => self.say(format!("{place} · from the cache")),
        }
    }

    fn left_out(&mut self, contender: &str, reason: &str) {
        self.bar.disable_steady_tick();
        self.note(&format!("{contender} is left out: {reason}"));
    }

    fn trial(&mut self, at: &Position<'_>, progress: trial::Progress) {
        self.bar.disable_steady_tick();
        let doing = match progress {
            trial::Progress::Launching => "launching",
            trial::Progress::Connecting => "connecting",
            trial::Progress::Verifying => "verifying",
            trial::Progress::WarmingUp => "warming up",
            trial::Progress::Measuring => "measuring",
            trial::Progress::Stopping => "stopping",
        };
        self.say(format!(
            "{} {} of at most {} · {} of {} · {} · {doing} · at most {} left",
            if at.in_duels { "session" } else { "block" },
            at.block + 1,
            at.max_blocks,
            at.trial + 1,
            at.trials,
            at.label,
            time_left(at.budget_s - at.elapsed_s)
        ));
    }

    fn warning(&mut self, text: &str) {
        self.note(&format!("warning: {text}"));
    }

    fn failed(&mut self, label: &str, reason: &str) {
        self.note(&format!("{label} failed: {}", crate::report::plain(reason)));
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn time_left(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        s if s >= 120 => format!("{} min", s.div_ceil(60)),
        s => format!("{s} s"),
    }
}
