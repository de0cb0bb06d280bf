//! Threads of the standard library, for contenders whose concurrent tasks are threads.

use std::io;
use std::thread::{self, Builder};
use std::time::Duration;

use super::{BlockingTimer, Job, work_blocking};
use crate::Lab;

/// The waiting functions of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Threads {
    yields_cpu: bool,
}

impl Threads {
    /// Creates the timer for the threads of this role.
    pub fn new(job: &Job) -> Self {
        Self { yields_cpu: job.yields_cpu() }
    }
}

impl BlockingTimer for Threads {
    fn yield_now(&self) {
        if self.yields_cpu {
            thread::yield_now();
        }
    }

    fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }
}

/// Runs `body` on a new thread. An error of `body` or of the thread's creation ends the process with `failed`.
pub fn spawn_thread(lab: Lab, body: impl FnOnce() -> io::Result<()> + Send + 'static) {
    let run = move || body().unwrap_or_else(|error| lab.failed(error));
    if let Err(error) = Builder::new().spawn(run) {
        lab.failed(format!("cannot create a thread: {error}"));
    }
}

/// Creates a thread for each background task; they wait for the warm-up. Call it before `ready`: more threads than the
/// system allows are `unsupported`, and creating threads is slow once thousands of them run.
pub fn background_threads(job: &'static Job) {
    for work in job.works() {
        let run = move || {
            job.await_warmup();
            work_blocking(work, Threads::new(job))
        };
        if let Err(error) = Builder::new().spawn(run) {
            job.lab.unsupported(format!("cannot create {} threads for background tasks: {error}", job.tasks));
        }
    }
}
