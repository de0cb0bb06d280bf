//! The course of a run: skipping cells, building, measuring.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::Timestamp;

use super::Resolved;
use super::cells::{crowded, is_alive};
use super::engine::{Ended, Engine, More, Result, RunError, arena_spec};
use super::measure::Measuring;
use crate::build::{Availability, BuildError, Prepared};
use netdyno_lab_arena::{Arena, Awake, CpuPlan, Topology};
use netdyno_lab_manifest::{ManifestError, Net, Placement, Workload};
use netdyno_lab_store::{CellRecord, CellStatus, Outcome, Run, RunHeader, RunStatus, StopReason, StoreError};

/// Most runs with the same second and seed, after the first.
const IDS_MAX: u64 = 255;

impl Engine<'_> {
    /// Runs a run from start to end. Returns its id.
    pub fn start(&mut self, resolved: &Resolved) -> Result<(String, Ended)> {
        let _awake = resolved.settings.awake.then(Awake::hold).transpose()?;
        let arena = Arena::best(&arena_spec(&resolved.settings))?;
        let plan =
            Topology::of_this_machine()?.place(resolved.settings.placement, resolved.workload.roles.len());
        let run = self.begin(resolved, &arena, &plan)?;
        drop(arena);
        let _claim = self.store.claim(&run.header.id)?;
        let rounds = 0..resolved.rounds.unwrap_or(u32::MAX).min(run.header.settings.max_blocks);
        let id = run.header.id.clone();
        self.go_on(run, &resolved.workload, &plan, rounds).map_err(|error| broke_off(id, error))
    }

    /// Resumes an unfinished run. With `more`, also extends a run that its budget ended.
    pub fn resume(&mut self, id: &str, more: Option<&More>) -> Result<(String, Ended)> {
        let _claim = self.store.claim(id)?;
        let mut run = self.store.load(id)?;
        let refused = |why: &str| Err(RunError::NotResumable(id.to_owned(), why.to_owned()));
        if self.store.is_imported(id)? {
            return refused("was imported, its trials are from another machine: start a new run");
        }
        let (then, now) = (run.header.host.headline(), crate::host::this_machine());
        if then != now {
            let why = format!("was measured on another machine ({then}; this one: {now}): start a new run");
            return refused(&why);
        }
        let has_ended = run.status == RunStatus::Finished;
        let rounds = match more {
            Some(more) => grant(&mut run, more),
            None if has_ended => {
                return refused("is finished: `netdyno show` shows it; --budget extends it");
            }
            None => 0..run.header.settings.max_blocks,
        };
        if has_ended && rounds.is_empty() {
            return refused("already has all its blocks: start a new run");
        }
        // No contender of a catalogue has such a name.
        if run.cells.iter().flat_map(|cell| cell.contenders.values()).any(|name| name.contains('@')) {
            return refused("compares revisions, which may have changed: run netdyno compare again");
        }
        // The rules of the run's start apply; the checkout may have changed since.
        let workload = run.header.parsed_workload()?;
        let plan = Topology::of_this_machine()?.place(run.header.settings.placement, workload.roles.len());
        // The stored network is the one that was used. The run cannot be resumed without it.
        drop(Arena::open(&arena_spec(&run.header.settings))?);
        let _awake = run.header.settings.awake.then(Awake::hold).transpose()?;
        if plan.warning.is_some() {
            return refused("started with one core per role, which is no longer possible");
        }
        self.store.update_header(&run.header)?;
        self.store.set_status(&run.header.id, RunStatus::Running, StopReason::Running)?;
        self.go_on(run, &workload, &plan, rounds).map_err(|error| broke_off(id.to_owned(), error))
    }

    fn begin(&mut self, resolved: &Resolved, arena: &Arena, plan: &CpuPlan) -> Result<Run> {
        let mut cells = resolved.cells.clone();
        self.leave_out(&resolved.workload, plan, &mut cells)?;
        let started_at = Timestamp::now();
        // Record the conditions in use, not the requested ones.
        let mut settings = resolved.settings.clone();
        let mut warnings: Vec<String> = plan.warning.iter().chain(&resolved.warnings).cloned().collect();
        if plan.warning.is_some() {
            settings.placement = Placement::Shared;
        }
        if !arena.is_private() {
            settings.net = Net::Host;
            warnings.push(format!("network: {}", arena.describe()));
        }
        let mut header = RunHeader {
            id: String::new(),
            workload: resolved.workload.name.clone(),
            manifest: self.manifest_text(&resolved.workload)?,
            started_at,
            lab_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: resolved.command.clone(),
            settings,
            host: crate::host::detect(crate::toolchains::toolchains()),
            arena: arena.describe().to_owned(),
            warnings,
        };
        let mut attempt = 0;
        loop {
            header.id = run_id(started_at, resolved.settings.seed, attempt);
            match self.store.begin_run(&header, &cells) {
                Err(StoreError::Taken(_)) if attempt < IDS_MAX => attempt += 1,
                begun => break begun?,
            }
        }
        Ok(Run {
            header,
            status: RunStatus::Running,
            stopped_because: StopReason::Running,
            cells,
            trials: Vec::new(),
        })
    }

    fn manifest_text(&self, workload: &Workload) -> Result<String> {
        let file = self.catalog.folder_of(&workload.name).join(format!("{}.toml", workload.name));
        std::fs::read_to_string(&file)
            .map_err(|e| RunError::Manifest(ManifestError::Unreadable { file, reason: e.to_string() }))
    }

    /// Marks cells that cannot run as skipped, before anything is built.
    fn leave_out(&mut self, workload: &Workload, plan: &CpuPlan, cells: &mut [CellRecord]) -> Result<()> {
        let mut known: BTreeMap<String, Availability> = BTreeMap::new();
        for cell in cells {
            for (role, name) in &cell.contenders {
                let contender = self.catalog.contender(&workload.name, name)?;
                let availability =
                    known.entry(name.clone()).or_insert_with(|| self.builder.availability(contender));
                let why = match availability {
                    Availability::Unavailable { reason, remedy } => Some((reason.clone(), remedy.clone())),
                    Availability::Available if !contender.plays(role) => {
                        Some((format!("{name} does not play the role {role}"), String::new()))
                    }
                    Availability::Available => match contender.supports(workload, &cell.params) {
                        Err(reason) => Some((reason, String::new())),
                        Ok(()) => plan.on_one_cpu().then(|| crowded(workload, cell)).flatten(),
                    },
                };
                if let Some((reason, remedy)) = why {
                    (cell.status, cell.reason, cell.remedy) = (CellStatus::Skipped, reason, remedy);
                    break;
                }
            }
        }
        Ok(())
    }

    fn go_on(
        &mut self,
        mut run: Run,
        workload: &Workload,
        plan: &CpuPlan,
        rounds: Range<u32>,
    ) -> Result<(String, Ended)> {
        let work = || -> Result<StopReason> {
            let inputs = &self.prepare_all(&mut run, workload)?;
            let builds = &self.build_all(&mut run, workload, plan, inputs)?;
            let budget_s = run.header.settings.budget_seconds;
            let with = Measuring { workload, plan, builds, inputs, rounds, budget_s, ends_halfway: false };
            self.measure(&mut run, &with)
        };
        let (status, ended, why) = match work() {
            Ok(why) => (RunStatus::Finished, Ended::Finished, why),
            Err(RunError::Interrupted | RunError::Build(BuildError::Cancelled { .. })) => {
                (RunStatus::Interrupted, Ended::Interrupted, StopReason::Interrupted)
            }
            Err(error) => return Err(error),
        };
        self.display.end();
        self.store.set_status(&run.header.id, status, why)?;
        Ok((run.header.id, ended))
    }

    /// Generates the input files of each cell, each file once. A cell without its inputs fails.
    fn prepare_all(&mut self, run: &mut Run, workload: &Workload) -> Result<Vec<Prepared>> {
        let mut all = vec![Prepared::new(); run.cells.len()];
        if workload.inputs.is_empty() {
            return Ok(all);
        }
        let what = workload.inputs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let folder = self.catalog.folder_of(&workload.name);
        for (index, inputs) in all.iter_mut().enumerate() {
            let cell = &mut run.cells[index];
            if !is_alive(cell) {
                continue;
            }
            let display = &mut *self.display;
            let prepared = self.builder.prepare((workload, &folder), &cell.params, &mut |event| {
                display.building(&what, 0, 1, &event);
            });
            match prepared {
                Ok(prepared) => *inputs = prepared,
                Err(e @ (BuildError::Cancelled { .. } | BuildError::Cache { .. })) => return Err(e.into()),
                Err(e) => {
                    self.display.left_out(&cell.label(&workload.roles), &e.to_string());
                    (cell.status, cell.reason) = (CellStatus::Failed, e.to_string());
                    continue;
                }
            }
            let digests: BTreeMap<_, _> =
                inputs.iter().map(|(name, i)| (name.clone(), i.expected.clone())).collect();
            if std::mem::replace(&mut cell.inputs, digests.clone()) != digests
                && run.trials.iter().any(|t| t.cell == index && t.outcome == Outcome::Ok)
            {
                let why = format!("measured with another {what}: start a new run");
                return Err(RunError::NotResumable(run.header.id.clone(), why));
            }
        }
        Ok(all)
    }
}

fn broke_off(id: String, error: RunError) -> RunError {
    match error {
        RunError::Store(source) => RunError::BrokeOff { id, source },
        other => other,
    }
}

/// Extends the budget of a run and sets its questions. Returns the rounds it may have. With questions these are new
/// rounds, since everything compared within a round must be measured at the same time.
fn grant(run: &mut Run, more: &More) -> Range<u32> {
    let begun = run.trials.iter().map(|t| t.block + 1).max().unwrap_or(0);
    let elapsed_s = run.elapsed_s();
    let settings = &mut run.header.settings;
    settings.budget_seconds = elapsed_s + more.seconds;
    let Some(asked) = &more.asked else {
        return if run.stopped_because == StopReason::BlockLimit { 0..0 } else { 0..settings.max_blocks };
    };
    settings.questions.clone_from(&asked.questions);
    begun..settings.max_blocks.min(begun.saturating_add(asked.rounds))
}

/// Sorts by time. Seed and attempt distinguish runs of the same second.
fn run_id(at: Timestamp, seed: u64, attempt: u64) -> String {
    format!("{}-{:04x}", at.strftime("%Y%m%d-%H%M%S"), seed.wrapping_add(attempt) & 0xffff)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_of_one_second_and_seed_differ() {
        let at = "2026-01-31T12:00:00Z".parse().unwrap();
        let ids: BTreeSet<String> = (0..=IDS_MAX).map(|attempt| run_id(at, u64::MAX, attempt)).collect();
        assert_eq!(ids.len() as u64, IDS_MAX + 1);
        assert!(ids.contains("20260131-120000-ffff") && ids.contains("20260131-120000-0000"));
    }
}
