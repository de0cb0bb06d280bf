//! Threads of the standard library, for contenders whose form of concurrent tasks they are.

use std::io;
use std::thread::{self, Builder};
use std::time::Duration;

use super::{BlockingTimer, Job, background_blocking, work_blocking};
use crate::Lab;

/// The waiting of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Threads;

impl BlockingTimer for Threads {
    fn yield_now(&self) {
        thread::yield_now();
    }

    fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }
}

/// Runs `body` on a thread of its own; an error, also that there is no such thread, ends the process with `failed`.
pub fn spawn_thread(lab: Lab, body: impl FnOnce() -> io::Result<()> + Send + 'static) {
    let run = move || body().unwrap_or_else(|error| lab.failed(error));
    if let Err(error) = Builder::new().spawn(run) {
        lab.failed(format!("a thread: {error}"));
    }
}

/// Waits for the warm-up, then runs each background task on a thread of its own.
pub fn background_threads(job: &'static Job) {
    background_blocking(job, &Threads, |work| {
        spawn_thread(job.lab, move || work_blocking(work, Threads));
    });
}
