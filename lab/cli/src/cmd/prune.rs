//! `netdyno prune`.

use jiff::Timestamp;

use super::{CommandResult, GOOD, Lab, cancel_on_signal, print};
use crate::cli::PruneArgs;
use crate::embedded;
use netdyno_lab_manifest::Contender;
use netdyno_lab_store::{Listed, Listing, RunStatus, Store, StoreError};

/// Limit of listed runs, more than a store ever holds.
const RUNS_MAX: usize = 1 << 24;

/// Removes outdated builds, the inputs that outdated programs generated and, on request, old runs. Prints the freed space.
pub(crate) fn run(args: &PruneArgs) -> CommandResult {
    let Lab { catalog, mut store, builder, .. } = Lab::open(&[], cancel_on_signal()?)?;
    let runs = store.list(Listing::newest(RUNS_MAX))?;
    // A running run needs its builds until it ends.
    let busy = |run: &&Listed| {
        run.status == RunStatus::Running && matches!(store.claim(&run.id), Err(StoreError::Busy(_)))
    };
    if let Some(run) = runs.iter().find(busy).filter(|_| !args.dry_run) {
        return Err(StoreError::Busy(run.id.clone()).into());
    }
    let word = if args.dry_run { "would remove" } else { "removed" };
    let (mut count, mut bytes) = (0, 0);
    let makers: Vec<Contender> = catalog.makers().collect();
    for stale in builder.stale(catalog.contenders.values().chain(&makers), &embedded::name())? {
        if args.dry_run || builder.remove(&stale)? {
            print(&format!("{word} {} {}: {}\n", stale.kind, stale.name, mebibytes(stale.bytes)));
            (count, bytes) = (count + 1, bytes + stale.bytes);
        }
    }
    let (freed, cache) = (mebibytes(bytes), builder.cache().display());
    print(&format!("{word} {count} builds and inputs, {freed}, in {cache}\n"));
    if args.keep.is_some() || args.older_than.is_some() {
        prune_runs(args, &mut store, &runs, word)?;
    }
    Ok(GOOD)
}

/// Removes the runs that are neither among the newest to keep nor young enough to keep.
fn prune_runs(args: &PruneArgs, store: &mut Store, runs: &[Listed], word: &str) -> Result<(), StoreError> {
    let now = Timestamp::now();
    let is_old = |started_at: Timestamp| {
        args.older_than.is_none_or(|age| now.duration_since(started_at).unsigned_abs() > age)
    };
    let old = runs.iter().skip(args.keep.unwrap_or(0)).filter(|run| is_old(run.started_at));
    let mut count = 0;
    for run in old {
        let id = &run.id;
        if !args.dry_run {
            store.remove(id)?;
        }
        print(&format!("{word} run {id}: {}\n", run.workload));
        count += 1;
    }
    let freed = if args.dry_run { String::new() } else { format!(", {}", mebibytes(store.compact()?)) };
    print(&format!("{word} {count} runs{freed}, in {}\n", Store::default_path().display()));
    Ok(())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
