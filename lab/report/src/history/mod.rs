//! A workload over time: each contender's ratio to the baseline and to the ceiling of the same run, and
//! changes of it.
//!
//! | does | does not |
//! |---|---|
//! | compare ratios under the same conditions | compare absolute figures across runs: the machine drifts |
//! | report from which run on a ratio has changed, and what else changed in that run | claim a cause |
//!
//! The store caches a [`Digest`] of each finished run, because reading the samples of hundreds of runs takes
//! minutes. Digests of another [`VERSION`] are recomputed.

mod digest;
mod series;

pub use digest::Digest;
use digest::VERSION;
pub(crate) use digest::Within;
use series::history;
pub(crate) use series::{Conditions, Dot, History, Line, MetricHistory, RatioSeries, Shift};

use netdyno_lab_analysis::report::{self, Report};
use netdyno_lab_store::{Listed, Listing, Run, RunStatus, Store, StoreError};

/// Number of runs that a history covers.
const RUNS_MAX: usize = 200;

/// Returns the digest of a run, from the store if it has one. `run` is a full id.
fn digest_of(store: &Store, run: &str) -> Result<Digest, StoreError> {
    let cached = store.digest(run, VERSION)?.and_then(|text| serde_json::from_str(&text).ok());
    if let Some(digest) = cached {
        return Ok(digest);
    }
    let loaded = store.load(run)?;
    store_digest(store, &loaded, &report::build(&loaded)?)
}

/// Computes the digest of a run, and stores it if the run has ended.
pub fn store_digest(store: &Store, run: &Run, report: &Report) -> Result<Digest, StoreError> {
    let digest = Digest::new(run, report)?;
    if run.status != RunStatus::Running {
        let text = serde_json::to_string(&digest).expect("a digest is serialisable");
        store.keep_digest(&run.header.id, VERSION, &digest::outcome(run, report)?, &text)?;
    }
    Ok(digest)
}

/// Returns the history of the newest finished runs of a workload; none if there are none. Unreadable runs are
/// skipped and listed with the reason.
pub(crate) fn load(store: &Store, workload: &str) -> Result<Option<History>, StoreError> {
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
