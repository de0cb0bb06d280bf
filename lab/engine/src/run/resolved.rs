//! A run to start: its cells and settings.

use netdyno_lab_analysis::claims::keep_asked;
use netdyno_lab_analysis::duels;
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::{CellRecord, Question, Settings};

/// A run to start.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The workload.
    pub workload: Workload,
    /// The cells.
    pub cells: Vec<CellRecord>,
    /// The settings.
    pub settings: Settings,
    /// Rounds for now; none: as many as the settings permit.
    pub rounds: Option<u32>,
    /// Warnings about the resolution.
    pub warnings: Vec<String>,
    /// The command line.
    pub command: Vec<String>,
}

impl Resolved {
    /// Sets the questions, and drops cells that they do not need.
    pub fn ask(&mut self, questions: Vec<Question>) {
        let Self { workload, settings, .. } = self;
        let in_duels = |cell: &CellRecord| duels::turns(settings, workload, &cell.params).is_ok();
        keep_asked(&mut self.cells, &questions, settings.baseline.as_deref(), in_duels);
        self.settings.questions = questions;
    }
}
