//! `netdyno explain`: attributes the difference between two contenders.

mod equalise;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fail_conditions::FailConditions;
use super::progress::Progress;
use super::{
    CommandResult, Fallible, GOOD, INTERRUPTED, Lab, cancel_on_signal, print, print_json, write_file,
};
use crate::cli::{ExplainArgs, ExplainFormat, RunArgs};
use netdyno_lab_analysis::explain::figures::{Pair, Probes, WorkUnit};
use netdyno_lab_analysis::explain::{explain, pair};
use netdyno_lab_arena::{Arena, Awake, Topology};
use netdyno_lab_engine::build::Builder;
use netdyno_lab_engine::host;
use netdyno_lab_engine::plan;
use netdyno_lab_engine::probe::{Bench, Scratch};
use netdyno_lab_engine::revisions::{self, RevisionError};
use netdyno_lab_engine::run::{Ended, arena_spec, roles};
use netdyno_lab_engine::trial::TrialSpec;
use netdyno_lab_manifest::{Catalog, Workload};
use netdyno_lab_protocol::limits::TimeLimits;
use netdyno_lab_report::columns;
use netdyno_lab_report::explain::{picture, text};
use netdyno_lab_store::probe::{Probe, ProbeKind};
use netdyno_lab_store::{CellRecord, Settings, Store};

/// Explains the difference, profiling whatever is not stored.
pub(crate) fn run(args: &ExplainArgs) -> CommandResult {
    let store = Store::open(&Store::default_path())?;
    let cancel = cancel_on_signal()?;
    let id = match store.find(&args.of) {
        Ok(id) => id,
        // Not a run: a workload, or a misspelt name of either.
        Err(no_run) => {
            let mut lab = Lab::open(&[&args.of, &args.a, &args.b], Arc::clone(&cancel))?;
            if let Err(no_workload) = lab.catalog.workload(&args.of) {
                return Err(format!("{no_run}; {no_workload}").into());
            }
            add_revisions(&mut lab.catalog, &lab.builder, &args.of, [&args.a, &args.b])?;
            let typed = run_args(args, lab.catalog.workload(&args.of)?);
            let resolved = typed.resolve(&FailConditions::default(), &lab.catalog)?;
            let (id, ended) = lab.engine(&mut Progress::new()).start(&resolved)?;
            if ended == Ended::Interrupted {
                return Ok(INTERRUPTED);
            }
            id
        }
    };
    let run = store.load(&id)?;
    let workload = run.header.parsed_workload()?;
    let pair = pair(&run, &workload, [&args.a, &args.b])?;
    let mut probes = stored(&store, &id, pair.cells)?;
    let (mut unseen, mut equalised) = (None, Vec::new());
    if !args.no_look {
        let mut lab = Lab::open(&[&run.header.workload], Arc::clone(&cancel))?;
        let compared = pair.cells.iter().flat_map(|cell| run.cells[*cell].contenders.values());
        let added = add_revisions(&mut lab.catalog, &lab.builder, &run.header.workload, compared);
        let mut looker = Looker { lab: &mut lab, pair };
        unseen = match added {
            Ok(()) => looker.look(args.again, &mut probes).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if !args.equalise.is_empty() {
            let budget_s = args.budget.map(|budget| budget.as_secs_f64());
            equalised = equalise::equalise(&mut looker, &args.equalise, budget_s, &mut Progress::new())?;
        }
        if cancel.load(Ordering::Relaxed) {
            return Ok(INTERRUPTED);
        }
    }
    let mut explanation = explain(&pair, &probes)?;
    explanation.equalised = equalised;
    explanation.warnings.extend(unseen.map(|why| format!("not profiled: {why}")));
    match args.format {
        ExplainFormat::Table => print(&text(&explanation, columns())),
        ExplainFormat::Json => print_json(&explanation)?,
    }
    if let Some(svg) = picture(&pair, &probes, &explanation) {
        let file = args.output.clone().unwrap_or_else(|| default_picture(&id, &args.a, &args.b));
        write_file(&file, svg)?;
        let _ = writeln!(anstream::stderr(), "flame graph: {}", file.display());
    }
    Ok(GOOD)
}

/// Adds contenders at revisions, such as `my-lib@main`, to the catalogue.
fn add_revisions<'a>(
    catalog: &mut Catalog,
    builder: &Builder,
    workload: &str,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<(), RevisionError> {
    for name in names {
        if let Some((contender, revision)) = name.split_once('@')
            && catalog.contender(workload, name).is_err()
        {
            revisions::add(catalog, builder.cache(), (workload, contender), revision)?;
        }
    }
    Ok(())
}

fn run_args(args: &ExplainArgs, workload: &Workload) -> RunArgs {
    // A ceiling is measured like contenders, but cannot be the baseline.
    let is_bound = |name: &String| workload.ceiling.as_ref() == Some(name);
    let bounds = is_bound(&args.a) || is_bound(&args.b);
    RunArgs {
        workload: Some(args.of.clone()),
        contenders: vec![args.a.clone(), args.b.clone()],
        preset: args.preset.clone(),
        set: args.set.clone(),
        baseline: [&args.a, &args.b].into_iter().find(|name| !is_bound(name)).cloned(),
        budget: args.budget,
        no_ceiling: !bounds,
        ..RunArgs::default()
    }
}

fn stored(store: &Store, run: &str, cells: [usize; 2]) -> Fallible<Probes> {
    let mut probes = Probes::default();
    for (side, cell) in cells.into_iter().enumerate() {
        let all = store.probes(run, cell)?;
        probes.sides[side] = all.into_iter().map(|(role, p)| ((role, p.kind), p)).collect();
    }
    Ok(probes)
}

/// A file name for two contenders, safe for any names.
fn default_picture(run: &str, a: &str, b: &str) -> PathBuf {
    let plain =
        |name: &str| name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect::<String>();
    Path::new(&format!("{run}-{}-{}.svg", plain(a), plain(b))).to_owned()
}

/// The language of each role, as reported by the program.
fn languages(cell: &CellRecord) -> BTreeMap<String, String> {
    cell.implementations.iter().map(|(role, i)| (role.clone(), i.language.to_lowercase())).collect()
}

struct Looker<'a> {
    lab: &'a mut Lab,
    pair: Pair<'a>,
}

impl Looker<'_> {
    /// Runs the profiling trials, each kind for both sides in turn, and stores the results.
    fn look(&mut self, again: bool, probes: &mut Probes) -> Fallible<()> {
        let run = self.pair.run;
        let unit = WorkUnit::new(self.pair.workload)?;
        let rates = self.pair.rates(&unit);
        let progress = Progress::new();
        let settings = &run.header.settings;
        let _awake = settings.awake.then(Awake::hold).transpose()?;
        let scratch = Scratch::new(self.lab.builder.cache())?;
        let (there, here) = (run.header.host.headline(), host::this_machine());
        for kind in ProbeKind::ALL {
            for (side, (cell, undisturbed)) in self.pair.cells.into_iter().zip(rates).enumerate() {
                let known = |role: &String| probes.sides[side].contains_key(&(role.clone(), kind));
                if !again && self.pair.workload.roles.iter().all(known) {
                    continue;
                }
                if there != here {
                    let place = format!("measured on another machine ({there}; this one: {here})");
                    return Err(format!("run {} was {place}", run.header.id).into());
                }
                let record = &run.cells[cell];
                let label = record.label(&self.pair.workload.roles);
                progress.note(&format!("profiling {label}: {}", kind.as_str()));
                let languages = languages(record);
                let (scratch, unit, cancel, languages) = (&scratch, &unit, &self.lab.cancel, &languages);
                let bench = Bench { scratch, languages, unit, equal: None, undisturbed, cancel };
                for (role, probe) in self.trial(&bench, kind, record, settings)? {
                    self.lab.store.keep_probe(&run.header.id, cell, &role, &probe)?;
                    probes.sides[side].insert((role, kind), probe);
                }
            }
        }
        Ok(())
    }

    /// Runs one trial of a cell, as in its run, with the seed of the first block.
    fn trial(
        &self,
        bench: &Bench<'_>,
        kind: ProbeKind,
        cell: &CellRecord,
        settings: &Settings,
    ) -> Fallible<BTreeMap<String, Probe>> {
        let workload = self.pair.workload;
        let mut builds = BTreeMap::new();
        for name in cell.contenders.values() {
            let contender = self.lab.catalog.contender(&workload.name, name)?;
            let built = self.lab.builder.build(contender, &mut |_| {})?;
            if cell.builds.get(name).is_some_and(|measured| measured.key != built.record.key) {
                let (a, b) = ("has changed since it was measured", "to measure it now: netdyno explain");
                return Err(format!("{name} {a}; {b} {} ...", workload.name).into());
            }
            builds.insert(name.clone(), built);
        }
        let seed = plan::payload_seed(settings.seed, 0);
        let arena = Arena::best(&netdyno_lab_arena::ArenaSpec { seed, ..arena_spec(settings) })?;
        let cpus = Topology::of_this_machine()?.place(settings.placement, workload.roles.len());
        let folder = self.lab.catalog.folder_of(&workload.name);
        let spec = TrialSpec {
            workload,
            params: &cell.params,
            inputs: self.lab.builder.prepare((workload, &folder), &cell.params, &mut |_| {})?,
            seed,
            roles: roles(workload, cell, settings, &builds, &cpus, &arena),
            marks: Vec::new(),
            limits: TimeLimits::default().scaled(settings.time_limits),
            extra_setup: false,
        };
        Ok(bench.probe(kind, spec, &arena, &mut |_| {}))
    }
}
