//! Runs one duel of a series, with a line of output for its result and progress on a terminal.

use crate::cmd::progress::{Progress, Series};
use crate::cmd::{Fallible, Lab};
use crate::doctor::against_itself::Duel;
use netdyno_lab_engine::run::{Ended, Position, Resolved};
use netdyno_lab_store::Run;

/// Runs one duel in the ordinary engine; `None` if the user interrupted it. The duel is `None` if a side failed. `so_far` describes
/// the progress.
pub(super) fn hold(
    lab: &mut Lab,
    plan: &Resolved,
    place: String,
    so_far: fn(&Position<'_>) -> String,
) -> Fallible<Option<(Run, Option<Duel>)>> {
    let mut display = Progress::of_series(Series { place: place.clone(), so_far });
    let (id, ended) = lab.engine(&mut display).start(plan)?;
    if ended == Ended::Interrupted || lab.is_cancelled() {
        return Ok(None);
    }
    let run = lab.store.load(&id)?;
    let duel = Duel::of(&run)?;
    let result = duel.map_or("failed".to_owned(), |d| format!("{}, {:.3}x", d.verdict.word(), d.ratio));
    display.note(&format!("{place}: {result}"));
    Ok(Some((run, duel)))
}
