//! A progress line on stderr.

use std::io::Write;
use std::time::{Duration, Instant};

/// The minimum interval between updates.
const INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct Progress {
    begin: Instant,
    printed_at: Option<Instant>,
    /// Bytes from an earlier transfer.
    from: u64,
    total: u64,
}

impl Progress {
    pub(crate) fn new(from: u64, total: u64) -> Self {
        Self { begin: Instant::now(), printed_at: None, from, total }
    }

    /// Updates the line: this many bytes are complete.
    pub(crate) fn update(&mut self, bytes: u64) {
        if self.printed_at.is_none_or(|at| at.elapsed() >= INTERVAL) || bytes == self.total {
            self.printed_at = Some(Instant::now());
            let share = if self.total == 0 { 100.0 } else { bytes as f64 / self.total as f64 * 100.0 };
            let rate = (bytes - self.from) as f64 / self.begin.elapsed().as_secs_f64().max(1e-3);
            eprint!("\r{share:5.1} % of {}, {}/s   ", format_bytes(self.total as f64), format_bytes(rate));
            // stderr may be closed.
            let _ = std::io::stderr().flush();
        }
    }
}

pub(crate) fn format_bytes(bytes: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes / size),
        None => format!("{bytes:.0} B"),
    }
}
