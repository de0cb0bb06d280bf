//! Progress: one line on a terminal, updated every second; JSON lines on request; nothing on a pipe.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Interval of updates.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum length of the line; a wrapped line could not be overwritten.
const LINE_CHARS: usize = 79;

/// The progress output.
#[derive(Debug)]
pub(crate) struct Status {
    form: Form,
    due: Instant,
    rates: Rates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Line,
    Json { on_stderr: bool },
    Nothing,
}

/// The counters of the last update.
#[derive(Debug)]
struct Rates {
    at: Instant,
    frames: u64,
    bytes: u64,
}

/// The rates since the last update.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// Frames per second.
    pub(crate) frames_per_s: f64,
    /// Bytes per second.
    pub(crate) bytes_per_s: f64,
}

impl Status {
    /// `has_stdout`: stdout carries no frames and may be used for JSON.
    pub(crate) fn new(json: bool, has_stdout: bool) -> Self {
        let form = match json {
            true => Form::Json { on_stderr: !has_stdout },
            false if io::stderr().is_terminal() => Form::Line,
            false => Form::Nothing,
        };
        let now = Instant::now();
        Self { form, due: now + INTERVAL, rates: Rates { at: now, frames: 0, bytes: 0 } }
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    /// Prints the progress after `counts` frames and bytes. `last` ends the line.
    pub(crate) fn show(
        &mut self,
        counts: (u64, u64),
        last: bool,
        text: impl FnOnce(Rate) -> String,
        json: impl FnOnce(Rate) -> Value,
    ) -> io::Result<()> {
        let now = Instant::now();
        let seconds = now.duration_since(self.rates.at).as_secs_f64().max(1e-3);
        let rate = Rate {
            frames_per_s: counts.0.saturating_sub(self.rates.frames) as f64 / seconds,
            bytes_per_s: counts.1.saturating_sub(self.rates.bytes) as f64 / seconds,
        };
        (self.rates, self.due) = (Rates { at: now, frames: counts.0, bytes: counts.1 }, now + INTERVAL);
        match self.form {
            Form::Nothing => Ok(()),
            Form::Line => {
                let line: String = text(rate).chars().take(LINE_CHARS).collect();
                let mut out = io::stderr().lock();
                write!(out, "\r\x1b[2K{line}{}", if last { "\n" } else { "" })?;
                out.flush()
            }
            Form::Json { on_stderr } => write_json(&json(rate), on_stderr),
        }
    }

    /// Prints an initial JSON line.
    pub(crate) fn begin(&self, json: &Value) -> io::Result<()> {
        match self.form {
            Form::Json { on_stderr } => write_json(json, on_stderr),
            Form::Line | Form::Nothing => Ok(()),
        }
    }

    /// Prints a message on stderr.
    pub(crate) fn remark(&self, text: &str) {
        let clear = if self.form == Form::Line { "\r\x1b[2K" } else { "" };
        eprintln!("{clear}netdyno-mjpeg: {text}");
    }
}

fn write_json(json: &Value, on_stderr: bool) -> io::Result<()> {
    if on_stderr {
        return writeln!(io::stderr(), "{json}");
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{json}")?;
    out.flush()
}

/// Formats a bit rate.
pub(crate) fn bits(bytes_per_s: f64) -> String {
    format!("{:.1} Mbit/s", bytes_per_s * 8.0 / 1e6)
}
