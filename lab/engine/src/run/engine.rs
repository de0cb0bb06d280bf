//! What runs runs: its parts, why it may fail, and what it writes of a run beside trials.

use std::sync::atomic::AtomicBool;

use super::Display;
use crate::build::{BuildError, Builder};
use netdyno_lab_analysis::claims::Asked;
use netdyno_lab_arena::{ArenaError, ArenaSpec};
use netdyno_lab_manifest::{Catalog, ManifestError};
use netdyno_lab_store::Equal;
use netdyno_lab_store::{Run, Settings, Store, StoreError};

/// Why a run could not begin or go on. What is stored of it stays.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A name or value of the request.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The arena.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The cache: no contender could be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A duel was to be held where there can be no turns.
    #[error("no duel here: {0}")]
    NoTurns(String),
    /// A run to be resumed cannot be.
    #[error("run {0} {1}")]
    NotResumable(String, String),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By its own rules.
    Finished,
    /// By the user.
    Interrupted,
}

/// What a stored run is given to go on with.
#[derive(Debug, Clone)]
pub struct More {
    /// Seconds of measuring, beside those that it has had.
    pub seconds: f64,
    /// What it is to find out from now on.
    pub asked: Option<Asked>,
}

/// Runs runs.
pub struct Engine<'a> {
    /// Workloads and contenders.
    pub catalog: &'a Catalog,
    /// Where samples go.
    pub store: &'a mut Store,
    /// Where contenders are built.
    pub builder: &'a Builder,
    /// What the user sees meanwhile.
    pub display: &'a mut dyn Display,
    /// Becomes true when the user wants to stop.
    pub cancel: &'a AtomicBool,
}

impl Engine<'_> {
    /// Tells the user at once, and the reader of the report later.
    pub(super) fn warn(&mut self, run: &mut Run, warnings: &[String]) -> Result<(), RunError> {
        for warning in warnings {
            self.display.warning(warning);
            if !run.header.warnings.contains(warning) {
                run.header.warnings.push(warning.clone());
            }
        }
        Ok(self.store.update_header(&run.header)?)
    }

    /// Writes down how the cells stand.
    pub(super) fn store_cells(&mut self, run: &Run) -> Result<(), RunError> {
        for (index, cell) in run.cells.iter().enumerate() {
            self.store.update_cell(&run.header.id, index, cell)?;
        }
        Ok(())
    }
}

/// The arena of a run.
pub fn arena_spec(settings: &Settings) -> ArenaSpec {
    let no_gso = matches!(settings.equal, Some(Equal::Gso));
    ArenaSpec { no_gso, ..ArenaSpec::local(settings.net.clone()) }
}
