//! A workload over time: each contender's ratio to the baseline and to the ceiling of the same run, run after run, and where
//! that changed.
//!
//! | does | does not |
//! |---|---|
//! | compare runs under the same conditions, by ratios within each | compare absolute figures of different runs: the machine drifts |
//! | say since which run a ratio is another, and what else was other then | say that the one caused the other |
//!
//! A run is brought down to a [`Digest`] once it has ended, which is kept in the store: reading all samples of hundreds of runs
//! takes minutes. What makes digests has a version; those of another version are made again.

mod digest;
mod series;

pub use digest::{Digest, Figure, Figures, Group, MetricInfo, VERSION, Within};
pub use series::{Conditions, Course, History, Line, Point, Series, Shift, history};

use netdyno_lab_analysis::report;
use netdyno_lab_analysis::report::Report;
use netdyno_lab_store::{Listed, Listing, Run, RunStatus, Store, StoreError};

/// Runs of one workload that a history looks back on.
pub const RUNS_MAX: usize = 200;

/// The digest of a run that has ended; made, and kept, where the store has none. `run` is a full id.
///
/// # Errors
/// When there is no such run, or it cannot be read.
pub fn digest_of(store: &Store, run: &str) -> Result<Digest, StoreError> {
    let kept = store.digest(run, VERSION)?.and_then(|text| serde_json::from_str(&text).ok());
    if let Some(digest) = kept {
        return Ok(digest);
    }
    let loaded = store.load(run)?;
    keep(store, &loaded, &report::build(&loaded)?)
}

/// Makes the digest of a run, and keeps it if the run has ended.
///
/// # Errors
/// When the store cannot be written, or the manifest in it not be read.
pub fn keep(store: &Store, run: &Run, report: &Report) -> Result<Digest, StoreError> {
    let digest = Digest::of(run, report)?;
    if run.status != RunStatus::Running {
        let text = serde_json::to_string(&digest).expect("a digest holds nothing that JSON cannot");
        store.keep_digest(&run.header.id, VERSION, &digest::outcome(run, report)?, &text)?;
    }
    Ok(digest)
}

/// The history of a workload, of its newest runs that have ended; none where there is no such run. One that cannot be read is
/// left out, and named with the reason.
///
/// # Errors
/// When the store cannot be read.
pub fn of_workload(store: &Store, workload: &str) -> Result<Option<History>, StoreError> {
    let listing = Listing { workload: Some(workload), skip: 0, most: RUNS_MAX };
    let mut runs: Vec<Listed> = store.list(listing)?;
    runs.retain(|run| run.status != RunStatus::Running);
    runs.reverse();
    if runs.is_empty() {
        return Ok(None);
    }
    let (mut digests, mut unreadable) = (Vec::new(), Vec::new());
    for run in runs {
        match digest_of(store, &run.id) {
            Ok(digest) => digests.push((run, digest)),
            Err(error @ StoreError::Sqlite { .. }) => return Err(error),
            Err(error) => unreadable.push(format!("{}: {error}", run.id)),
        }
    }
    Ok(Some(history(workload, &digests, unreadable)))
}

#[cfg(test)]
mod tests;
