//! The background tasks on the thread that polls.

use netdyno_contender::now_ns;
use netdyno_contender::rtt::{Job, WORK_PAUSE, Work};

const PAUSE_NS: u64 = WORK_PAUSE.as_nanos() as u64;

/// Every task of a role, and when it is due. All wait equally long, so they fall due in the order in which they ran.
pub struct Tasks {
    job: &'static Job,
    tasks: Vec<(Work, u64)>,
    next: usize,
}

impl Tasks {
    pub fn new(job: &'static Job) -> Self {
        Self { job, tasks: job.works().map(|work| (work, 0)).collect(), next: 0 }
    }

    /// Runs one task if it is due. To be called again and again.
    pub fn run(&mut self) {
        if self.tasks.is_empty() || !self.job.warm() {
            return;
        }
        let (work, due_ns) = &mut self.tasks[self.next];
        if now_ns() < *due_ns {
            return;
        }
        work.run();
        *due_ns = now_ns() + PAUSE_NS;
        self.next = (self.next + 1) % self.tasks.len();
    }
}
