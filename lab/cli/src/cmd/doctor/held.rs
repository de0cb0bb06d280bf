//! Runs one duel of a series, with a line of output for its result and progress on a terminal.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::cmd::progress::Progress;
use crate::doctor::against_itself::Duel;
use netdyno_lab_analysis::report::plain;
use netdyno_lab_engine::build::{BuildEvent, Builder};
use netdyno_lab_engine::run::{Display, Ended, Engine, Position, Resolved};
use netdyno_lab_engine::trial;
use netdyno_lab_manifest::Catalog;
use netdyno_lab_store::{Run, Store};

/// Runs duels in the ordinary engine.
pub(super) struct DuelRunner<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) store: Store,
    pub(super) builder: &'a Builder,
    pub(super) cancel: &'a AtomicBool,
}

/// A finished duel.
pub(super) struct Held {
    pub(super) run: Run,
    /// `None` if a side failed.
    pub(super) duel: Option<Duel>,
}

impl DuelRunner<'_> {
    /// Runs one duel; `None` if the user interrupted it. `so_far` describes the progress.
    pub(super) fn run(
        &mut self,
        plan: &Resolved,
        place: String,
        so_far: fn(&Position<'_>) -> String,
    ) -> Result<Option<Held>, Box<dyn std::error::Error>> {
        let mut display = Quiet { place, so_far, progress: Progress::new() };
        let mut engine = Engine {
            catalog: self.catalog,
            store: &mut self.store,
            builder: self.builder,
            display: &mut display,
            cancel: self.cancel,
        };
        let (id, ended) = engine.start(plan)?;
        if ended == Ended::Interrupted || self.is_cancelled() {
            return Ok(None);
        }
        let run = self.store.load(&id)?;
        let duel = Duel::of(&run)?;
        let result = duel.map_or("failed".to_owned(), sentence);
        display.progress.note(&format!("{}: {result}", display.place));
        Ok(Some(Held { run, duel }))
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

fn sentence(duel: Duel) -> String {
    format!("{}, {:.3}x", duel.verdict.word(), duel.ratio)
}

/// Progress of a run in a series: its position on a terminal, and warnings and failures.
struct Quiet {
    place: String,
    so_far: fn(&Position<'_>) -> String,
    progress: Progress,
}

impl Display for Quiet {
    fn building(&mut self, contender: &str, index: usize, count: usize, event: &BuildEvent) {
        self.progress.building(contender, index, count, event);
    }

    fn left_out(&mut self, contender: &str, reason: &str) {
        self.progress.left_out(contender, reason);
    }

    fn trial(&mut self, at: &Position<'_>, _: trial::Progress) {
        self.progress.show(format!("{} · {}", self.place, (self.so_far)(at)));
    }

    /// Not needed: a duel is short, and both sides are the same build.
    fn first_look(&mut self, _: &Run, _: &str) {}

    fn warning(&mut self, text: &str) {
        self.progress.warning(text);
    }

    fn failed(&mut self, label: &str, reason: &str) {
        self.progress.failed(label, &plain(reason));
    }

    fn end(&mut self) {
        self.progress.end();
    }
}
