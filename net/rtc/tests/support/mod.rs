//! What several tests need.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use netdyno_rtc::{Connection, Endpoint, Event, Handler, Message, Settings};

/// Long enough for the slowest machine; no test waits for it unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn settings() -> Settings {
    Settings::new().unwrap()
}

pub fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap()
}

/// A handler of two functions.
pub struct On<E, M>(pub E, pub M);

impl<E, M> Handler for On<E, M>
where
    E: FnMut(&mut Connection<'_>, Event),
    M: FnMut(&mut Connection<'_>, Message),
{
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        (self.0)(connection, event);
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        (self.1)(connection, message);
    }
}

/// Does not care.
pub struct Ignore;

impl Handler for Ignore {
    fn on_event(&mut self, _: &mut Connection<'_>, _: Event) {}
    fn on_message(&mut self, _: &mut Connection<'_>, _: Message) {}
}

/// Calls `step` until it gives something.
pub fn until<T>(mut step: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = step() {
            return value;
        }
        assert!(Instant::now() < deadline, "nothing came of it in time");
    }
}

/// Threads of this process with this name.
pub fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}
