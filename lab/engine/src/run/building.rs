//! The builds of a run, with a first look in between if worthwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use std::thread;

use super::cells::{is_alive, note_build};
use super::engine::{Engine, Result, RunError};
use super::first_look;
use super::order::order;
use crate::build::{BuildError, BuildEvent, Built, Prepared};
use netdyno_lab_arena::CpuPlan;
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::{CellRecord, CellStatus, Outcome, Run};

/// Builds at a time: while one optimises at link time, which takes a single CPU, another compiles.
const AT_ONCE: usize = 2;

/// A message of the thread that builds the contender with this index.
enum Report {
    Event(usize, BuildEvent),
    Ended(usize, Box<Result<Built, BuildError>>),
}

impl Engine<'_> {
    /// Builds each contender that a cell needs once. After an error, running builds are awaited.
    pub(super) fn build_all(
        &mut self,
        run: &mut Run,
        workload: &Workload,
        plan: &CpuPlan,
        inputs: &[Prepared],
    ) -> Result<BTreeMap<String, Built>> {
        let (names, seconds) = self.in_order(run, workload);
        let mut builds = BTreeMap::new();
        let (catalog, builder) = (self.catalog, self.builder);
        let (sender, reports) = mpsc::channel();
        thread::scope(|scope| {
            let mut to_come = names.iter().enumerate();
            let mut running = BTreeSet::new();
            let mut failed = Ok(());
            loop {
                while failed.is_ok() && running.len() < AT_ONCE && to_come.len() > 0 {
                    let will_be_built = |name: &str| builds.contains_key(name) || running.contains(name);
                    let left = &seconds[names.len() - to_come.len()..];
                    if first_look::is_due(run, will_be_built, left, &workload.first_look) {
                        if !running.is_empty() {
                            break;
                        }
                        self.first_look(run, workload, plan, (&builds, inputs))?;
                    }
                    let Some((index, name)) = to_come.next() else { break };
                    let contender = catalog.contender(&workload.name, name)?;
                    let sender = sender.clone();
                    running.insert(name.as_str());
                    scope.spawn(move || {
                        // Nothing receives after an error that ended the run.
                        let mut report = |event| drop(sender.send(Report::Event(index, event)));
                        let built = builder.build(contender, &mut report);
                        drop(sender.send(Report::Ended(index, Box::new(built))));
                    });
                }
                if running.is_empty() {
                    return failed;
                }
                match reports.recv() {
                    Ok(Report::Event(index, event)) => {
                        self.display.building(&names[index], index, names.len(), &event);
                    }
                    Ok(Report::Ended(index, built)) => {
                        let name = &names[index];
                        running.remove(name.as_str());
                        match self.take(run, workload, name, *built) {
                            Ok(built) => builds.extend(built.map(|built| (name.clone(), built))),
                            Err(error) => failed = failed.and(Err(error)),
                        }
                    }
                    Err(mpsc::RecvError) => unreachable!("this function holds a sender"),
                }
            }
        })?;
        self.store_cells(run)?;
        Ok(builds)
    }

    /// The contenders in the order of their builds, with the expected seconds of each.
    fn in_order(&self, run: &Run, workload: &Workload) -> (Vec<String>, Vec<f64>) {
        let wanted = run.cells.iter().filter(|cell| is_alive(cell)).flat_map(|c| c.contenders.values());
        let wanted: BTreeSet<String> = wanted.cloned().collect();
        let expected_seconds = |name: &String| {
            let contender = self.catalog.contender(&workload.name, name);
            contender.map_or(0.0, |contender| self.builder.expected_seconds(contender))
        };
        let expected: BTreeMap<_, _> = wanted.iter().map(|n| (n.clone(), expected_seconds(n))).collect();
        // Comparisons need partners and the baseline. The ceiling need not be part of a first look.
        let partners = workload.partners.values().map(String::as_str);
        let baseline = run.header.settings.baseline.as_deref();
        let first_look = workload.first_look.iter().map(String::as_str);
        let first: Vec<&str> =
            partners.chain(baseline).chain(first_look).chain(workload.ceiling.as_deref()).collect();
        let names = order(wanted, &first, |name| expected[name]);
        let seconds = names.iter().map(|name| expected[name]).collect();
        (names, seconds)
    }

    /// Records a build: none if it failed. An error ends the run.
    fn take(
        &mut self,
        run: &mut Run,
        workload: &Workload,
        name: &str,
        built: Result<Built, BuildError>,
    ) -> Result<Option<Built>> {
        match built {
            Ok(built) => {
                if was_measured_with_another(run, name, &built) {
                    let why = format!("measured another build of {name}: start a new run");
                    return Err(RunError::NotResumable(run.header.id.clone(), why));
                }
                let contender = self.catalog.contender(&workload.name, name)?;
                note_build(run, name, contender, &built);
                Ok(Some(built))
            }
            // Every contender needs the cache.
            Err(e @ (BuildError::Cancelled { .. } | BuildError::Cache { .. })) => Err(e.into()),
            Err(e) => {
                self.display.left_out(name, &e.to_string());
                let needs_it = |c: &&mut CellRecord| {
                    c.status != CellStatus::Skipped && c.contenders.values().any(|n| n == name)
                };
                for cell in run.cells.iter_mut().filter(needs_it) {
                    (cell.status, cell.reason) = (CellStatus::Failed, e.to_string());
                }
                Ok(None)
            }
        }
    }
}

/// Whether a resumed run has figures of another build of a contender.
fn was_measured_with_another(run: &Run, name: &str, built: &Built) -> bool {
    run.cells.iter().enumerate().any(|(index, cell)| {
        let other = cell.builds.get(name).is_some_and(|b| b.key != built.record.key);
        other && run.trials.iter().any(|t| t.cell == index && t.outcome == Outcome::Ok)
    })
}
