//! Progress without a terminal: plain lines, and no long silence.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest silence while something goes on that may be told.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Lines on stderr. What takes long is told again and again by a thread of its own, which sleeps while nothing is
/// [`doing`](Self::doing).
pub(super) struct Lines {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    silence_max: Duration,
}

struct State {
    out: Box<dyn Write + Send>,
    /// What goes on, and since when.
    doing: Option<(String, Instant)>,
    /// When the last line was written.
    said: Instant,
    ended: bool,
}

impl Lines {
    pub(super) fn stderr() -> Lines {
        Lines::new(Box::new(anstream::stderr()), SILENCE_MAX)
    }

    fn new(out: Box<dyn Write + Send>, silence_max: Duration) -> Lines {
        let state = State { out, doing: None, said: Instant::now(), ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), silence_max });
        let beating = Arc::clone(&shared);
        thread::spawn(move || beating.beat());
        Lines { shared }
    }

    /// Writes a line.
    pub(super) fn say(&self, line: &str) {
        self.shared.lock().say(line);
    }

    /// From now on this goes on: told whenever nothing was said for long.
    pub(super) fn doing(&self, what: impl Into<String>) {
        self.shared.lock().doing = Some((what.into(), Instant::now()));
        self.shared.changed.notify_one();
    }

    /// From now on nothing is told by itself.
    pub(super) fn rest(&self) {
        self.shared.lock().doing = None;
        // So that the thread lies down now, and not when its time is up.
        self.shared.changed.notify_one();
    }

    /// Whether something goes on that is told.
    pub(super) fn is_doing(&self) -> bool {
        self.shared.lock().doing.is_some()
    }

    /// For how long nothing was said.
    pub(super) fn silence(&self) -> Duration {
        self.shared.lock().said.elapsed()
    }

    /// Whether nothing was said for long.
    pub(super) fn is_silent(&self) -> bool {
        self.silence() >= self.shared.silence_max
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A line that was not written to its end leaves the state whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beat(&self) {
        let mut state = self.lock();
        while !state.ended {
            let Some((what, since)) = &state.doing else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // Since the last line, however often what goes on has changed meanwhile.
            let left = self.silence_max.saturating_sub(state.said.elapsed());
            if left.is_zero() {
                let line = format!("still {what}, {:.0} s", since.elapsed().as_secs_f64());
                state.say(&line);
                continue;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    fn say(&mut self, line: &str) {
        // A reader that went away is not an error.
        let _ = writeln!(self.out, "{line}");
        self.said = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was written, for all to see.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<u8>>>);

    impl Write for Seen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Seen {
        fn lines(&self) -> Vec<String> {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
        }
    }

    #[test]
    fn what_takes_long_is_told_again_and_rest_is_quiet() {
        let seen = Seen::default();
        let lines = Lines::new(Box::new(seen.clone()), Duration::from_millis(20));
        lines.say("build 1 of 2: slow");
        lines.doing("building slow");
        let deadline = Instant::now() + Duration::from_secs(20);
        while seen.lines().len() < 3 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        lines.rest();
        let told = seen.lines();
        assert_eq!(told[0], "build 1 of 2: slow");
        assert!(
            told.len() >= 3 && told[1..].iter().all(|line| line == "still building slow, 0 s"),
            "{told:?}"
        );
        thread::sleep(Duration::from_millis(100));
        assert_eq!(seen.lines(), told, "nothing is told while nothing goes on");
        assert!(lines.is_silent() && !lines.is_doing());
    }
}
