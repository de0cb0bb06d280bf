//! The engine of runs, and its errors.

use std::sync::atomic::AtomicBool;

use super::Display;
use crate::build::{BuildError, Builder};
use netdyno_lab_analysis::claims::Asked;
use netdyno_lab_arena::{ArenaError, ArenaSpec};
use netdyno_lab_manifest::{Catalog, ManifestError};
use netdyno_lab_store::{Equal, Run, Settings, Store, StoreError};

/// Why a run could not start or continue. Its stored trials remain.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages and types document the variants")]
pub enum RunError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The cache is unusable: no contender can be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A duel was requested where turns are impossible.
    #[error("duels are not possible: {0}")]
    NoTurns(String),
    /// The store failed during a run.
    #[error("run {id} broke off: {source}")]
    BrokeOff { id: String, source: StoreError },
    #[error("run {0} {1}")]
    NotResumable(String, String),
    #[error("the user stopped the run")]
    Interrupted,
}

pub(super) type Result<T, E = RunError> = std::result::Result<T, E>;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By its own rules.
    Finished,
    /// By the user.
    Interrupted,
}

/// The extension of a stored run.
#[derive(Debug, Clone)]
pub struct More {
    /// Additional seconds of measuring.
    pub seconds: f64,
    /// The questions from now on.
    pub asked: Option<Asked>,
}

/// Runs measurements.
pub struct Engine<'a> {
    /// Workloads and contenders.
    pub catalog: &'a Catalog,
    /// The store.
    pub store: &'a mut Store,
    /// The builder of contenders.
    pub builder: &'a Builder,
    /// The progress display.
    pub display: &'a mut dyn Display,
    /// Becomes true if the user stops the run.
    pub cancel: &'a AtomicBool,
}

impl Engine<'_> {
    /// Displays warnings and stores them with the run.
    pub(super) fn warn(&mut self, run: &mut Run, warnings: &[String]) -> Result<()> {
        for warning in warnings {
            self.display.warning(warning);
            if !run.header.warnings.contains(warning) {
                run.header.warnings.push(warning.clone());
            }
        }
        Ok(self.store.update_header(&run.header)?)
    }

    pub(super) fn store_cells(&mut self, run: &Run) -> Result<()> {
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
