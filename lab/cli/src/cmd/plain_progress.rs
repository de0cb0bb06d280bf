//! Progress without a terminal: plain lines, at least one every [`SILENCE_MAX`].

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest silence during an announced activity.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// PlainProgress on stderr. A thread repeats the announced [activity](Self::doing) if it takes long, and sleeps if there is none.
pub(super) struct PlainProgress {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    silence_max: Duration,
}

struct State {
    out: Box<dyn Write + Send>,
    /// The current activity and its start.
    doing: Option<(String, Instant)>,
    /// When the last line was written.
    last_line: Instant,
    ended: bool,
}

impl PlainProgress {
    pub(super) fn stderr() -> PlainProgress {
        PlainProgress::new(Box::new(anstream::stderr()), SILENCE_MAX)
    }

    fn new(out: Box<dyn Write + Send>, silence_max: Duration) -> PlainProgress {
        let state = State { out, doing: None, last_line: Instant::now(), ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), silence_max });
        let beating = Arc::clone(&shared);
        thread::spawn(move || beating.beat());
        PlainProgress { shared }
    }

    pub(super) fn print_line(&self, line: &str) {
        self.shared.lock().print_line(line);
    }

    /// Announces an activity, which is repeated after each silence.
    pub(super) fn doing(&self, what: impl Into<String>) {
        self.shared.lock().doing = Some((what.into(), Instant::now()));
        self.shared.changed.notify_one();
    }

    /// Ends the activity: no more lines are printed automatically.
    pub(super) fn rest(&self) {
        self.shared.lock().doing = None;
        // Let the thread go to sleep now instead of after its timeout.
        self.shared.changed.notify_one();
    }

    /// Time since the last line.
    pub(super) fn silence(&self) -> Duration {
        self.shared.lock().last_line.elapsed()
    }

    /// Whether the last line is older than the longest permitted silence.
    pub(super) fn is_silent(&self) -> bool {
        self.silence() >= self.shared.silence_max
    }
}

impl Drop for PlainProgress {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A partially written line does not corrupt the state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beat(&self) {
        let mut state = self.lock();
        while !state.ended {
            let Some((what, since)) = &state.doing else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // Measured from the last line, even if the activity has changed since.
            let left = self.silence_max.saturating_sub(state.last_line.elapsed());
            if left.is_zero() {
                let line = format!("still {what}, {:.0} s", since.elapsed().as_secs_f64());
                state.print_line(&line);
                continue;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    fn print_line(&mut self, line: &str) {
        // A closed pipe is not an error.
        let _ = writeln!(self.out, "{line}");
        self.last_line = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the output.
    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<Vec<u8>>>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Output {
        fn lines(&self) -> Vec<String> {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
        }
    }

    #[test]
    fn long_activities_are_repeated_and_rest_is_silent() {
        let output = Output::default();
        let lines = PlainProgress::new(Box::new(output.clone()), Duration::from_millis(20));
        lines.print_line("build 1 of 2: slow");
        lines.doing("building slow");
        let deadline = Instant::now() + Duration::from_secs(20);
        while output.lines().len() < 3 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        lines.rest();
        let printed = output.lines();
        assert_eq!(printed[0], "build 1 of 2: slow");
        assert!(
            printed.len() >= 3 && printed[1..].iter().all(|line| line == "still building slow, 0 s"),
            "{printed:?}"
        );
        thread::sleep(Duration::from_millis(100));
        assert_eq!(output.lines(), printed, "no lines without an activity");
        assert!(lines.is_silent());
    }
}
