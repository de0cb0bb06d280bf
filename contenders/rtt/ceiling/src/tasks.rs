//! The background tasks, which run on the polling thread.

use netdyno_contender::now_ns;
use netdyno_contender::rtt::{Job, WORK_PAUSE, Work};

const PAUSE_NS: u64 = WORK_PAUSE.as_nanos() as u64;

/// All tasks of a role and when they are due. All pauses are equal, so the tasks are due in the order in which they ran.
pub struct Tasks {
    job: &'static Job,
    tasks: Vec<(Work, u64)>,
    next: usize,
}

impl Tasks {
    pub fn new(job: &'static Job) -> Self {
        Self { job, tasks: job.works().map(|work| (work, 0)).collect(), next: 0 }
    }

    /// Runs one task if it is due. Called in every pass.
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
