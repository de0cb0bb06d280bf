//! One line that says how far it is.

use std::io::Write;
use std::time::{Duration, Instant};

/// How often the line is written.
const INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct Progress {
    begin: Instant,
    told: Option<Instant>,
    /// Bytes that were there before.
    from: u64,
    total: u64,
}

impl Progress {
    pub(crate) fn new(from: u64, total: u64) -> Self {
        Self { begin: Instant::now(), told: None, from, total }
    }

    /// So many bytes are there now.
    pub(crate) fn tell(&mut self, bytes: u64) {
        if self.told.is_none_or(|told| told.elapsed() >= INTERVAL) || bytes == self.total {
            self.told = Some(Instant::now());
            let share = if self.total == 0 { 100.0 } else { bytes as f64 / self.total as f64 * 100.0 };
            let rate = (bytes - self.from) as f64 / self.begin.elapsed().as_secs_f64().max(1e-3);
            eprint!("\r{share:5.1} % of {}, {}/s   ", shown(self.total as f64), shown(rate));
            // A terminal that is gone shows nothing.
            let _ = std::io::stderr().flush();
        }
    }
}

pub(crate) fn shown(bytes: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes / size),
        None => format!("{bytes:.0} B"),
    }
}
