//! A run, from the request to the last stored trial.
//!
//! [`Resolved`] is a plan of cells with settings. [`Engine`] builds their contenders and
//! measures them until the primary metric is decided, the budget is exhausted, or the user stops it. Every trial is
//! stored before the next one starts, so that a killed run can be shown and resumed.

mod building;
mod cells;
mod course;
mod engine;
mod equal;
mod first_look;
mod measure;
mod neighbours;
mod order;
mod resolved;

pub use cells::{apart, roles};
pub use engine::{Ended, Engine, More, RunError, arena_spec};
pub(crate) use equal::preload;
pub use resolved::{Resolved, network_of};

use std::time::Duration;

use crate::build::BuildEvent;
use crate::trial;
use netdyno_lab_store::Run;

/// The progress display of a run.
pub trait Display {
    /// A contender is being built: number `index` of `count`.
    fn building(&mut self, contender: &str, index: usize, count: usize, event: &BuildEvent);
    /// A first look at the contenders built so far, with a description of the remaining ones.
    fn first_look(&mut self, run: &Run, how_far: &str);
    /// A contender does not take part.
    fn left_out(&mut self, contender: &str, reason: &str);
    /// Progress of a trial.
    fn trial(&mut self, at: &Position<'_>, progress: trial::Progress);
    /// A warning for the reader of the report, which is stored with the run.
    fn warning(&mut self, text: &str);
    /// A trial failed.
    fn failed(&mut self, label: &str, reason: &str);
    /// The run has ended; the progress display disappears.
    fn end(&mut self);
}

/// The position of a run.
#[derive(Debug, Clone, Copy)]
pub struct Position<'a> {
    /// The measured contenders.
    pub label: &'a str,
    /// Whether it is a session of duels.
    pub in_duels: bool,
    /// Block or session, from 0.
    pub block: u32,
    /// Greatest number of blocks.
    pub max_blocks: u32,
    /// Trial within the block, from 0.
    pub trial: usize,
    /// Trials of the block.
    pub trials: usize,
    /// The length of the measured window.
    pub window: Duration,
    /// Seconds of measuring so far.
    pub elapsed_s: f64,
    /// Budget of measuring time, in seconds.
    pub budget_s: f64,
}
