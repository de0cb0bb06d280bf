//! A run, from what was asked to the last stored trial.
//!
//! [`Request`] is resolved against the catalog into a plan of cells; [`Engine`] builds their contenders and measures
//! them block by block until the primary metric is decided, the budget is used up, or the user stops it. Every trial
//! is in the store before the next begins, so that a killed run can be shown, and resumed.

mod cells;
mod course;
mod engine;
mod equal;
mod first_look;
mod measure;
mod neighbours;
mod network;
mod order;
mod request;

pub use cells::{apart, roles};
pub use engine::arena_spec;
pub use engine::{Ended, Engine, More, RunError};
pub(crate) use equal::preload;
pub use network::network_of;
pub use request::{Request, Resolved};

use std::time::Duration;

use crate::build::BuildEvent;
use crate::trial;
use netdyno_lab_store::Run;

/// What a run tells while it goes on.
pub trait Display {
    /// A contender is being built: the `index`-th of `count`.
    fn building(&mut self, contender: &str, index: usize, count: usize, event: &BuildEvent);
    /// The first figures are there, of what is built by now: the run as the store has it, and how far it is.
    fn first_look(&mut self, run: &Run, how_far: &str);
    /// A contender will not take part.
    fn left_out(&mut self, contender: &str, reason: &str);
    /// A trial goes on.
    fn trial(&mut self, at: &Position<'_>, progress: trial::Progress);
    /// Something that the reader of the figures should know, stored with the run.
    fn warning(&mut self, text: &str);
    /// A trial failed.
    fn failed(&mut self, label: &str, reason: &str);
    /// Everything is over; what is shown of progress goes away.
    fn end(&mut self);
}

/// Where a run stands.
#[derive(Debug, Clone, Copy)]
pub struct Position<'a> {
    /// Who is measured.
    pub label: &'a str,
    /// It is a session of a duel.
    pub in_duels: bool,
    /// Block or session, from 0.
    pub block: u32,
    /// Blocks at the most.
    pub max_blocks: u32,
    /// Trial within the block, from 0.
    pub trial: usize,
    /// Trials of the block.
    pub trials: usize,
    /// How long this one measures.
    pub window: Duration,
    /// Seconds of measuring so far.
    pub elapsed_s: f64,
    /// Seconds of measuring at the most.
    pub budget_s: f64,
}
