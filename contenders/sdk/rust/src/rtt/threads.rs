//! Threads of the standard library, for contenders whose form of concurrent tasks they are.

use std::io;
use std::thread::{self, Builder};
use std::time::Duration;

use super::{BlockingTimer, Job, work_blocking};
use crate::Lab;

/// The waiting of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Threads {
    yields_cpu: bool,
}

impl Threads {
    /// For the threads of this role.
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

/// Runs `body` on a thread of its own; an error, also that there is no such thread, ends the process with `failed`.
pub fn spawn_thread(lab: Lab, body: impl FnOnce() -> io::Result<()> + Send + 'static) {
    let run = move || body().unwrap_or_else(|error| lab.failed(error));
    if let Err(error) = Builder::new().spawn(run) {
        lab.failed(format!("a thread: {error}"));
    }
}

/// Makes a thread for each background task; they wait for the warm-up. Before `ready`: more threads than the system
/// grants are `unsupported`, and once thousands run, making the rest would take long.
pub fn background_threads(job: &'static Job) {
    for work in job.works() {
        let run = move || {
            job.await_warmup();
            work_blocking(work, Threads::new(job))
        };
        if let Err(error) = Builder::new().spawn(run) {
            job.lab.unsupported(format!("a thread for each of {} tasks: {error}", job.tasks));
        }
    }
}
