//! `netdyno compare`: compares two revisions of a contender, or two stored runs.

use std::time::Duration;

use super::fail_conditions::FailConditions;
use super::progress::Progress;
use super::{
    CELL_FAILED, CommandResult, GOOD, INTERRUPTED, Lab, cancel_on_signal, keep_printed, place, print,
    print_json, quiet_catalog, render, tell,
};
use crate::cli::{CompareArgs, Format, ReportFormat, RunArgs, parse_fail_on};
use netdyno_lab_analysis::comparison::{self, Comparison, Unmeasured};
use netdyno_lab_engine::build::BuildError;
use netdyno_lab_engine::revisions::{self, WORKING_TREE};
use netdyno_lab_engine::run::{Display, Ended};
use netdyno_lab_manifest::{Catalog, ManifestError};
use netdyno_lab_report::columns;
use netdyno_lab_report::comparison::{markdown, terminal};
use netdyno_lab_store::{Store, StoreError};

/// Default preset, if the workload has it.
const PRESET: &str = "quick";
const BUDGET: Duration = Duration::from_secs(60);
/// Default limit of sessions. The budget is normally exhausted first.
const SESSIONS_MAX: u32 = 1000;

/// Compares, prints the changes, and applies the conditions of `--fail-on`.
pub(crate) fn run(args: &CompareArgs) -> CommandResult {
    let project = place::project()?.unwrap_or_default();
    let asked = match args.fail_on.as_slice() {
        [] => {
            let parse =
                |text: &String| parse_fail_on(text).map_err(|e| format!("{}: {e}", project.place_of(text)));
            project.fail_on.iter().map(parse).collect::<Result<_, _>>()?
        }
        typed => typed.to_vec(),
    };
    let gate = &FailConditions::new(&asked)?;
    if let ([], [from, to]) = (args.revisions.as_slice(), args.what.as_slice()) {
        return runs(args, gate, (from, to));
    }
    let mut what = args.what.clone();
    if what.is_empty() {
        what.extend(project.contender);
    }
    if what.len() == 1 {
        what.splice(0..0, project.workload);
    }
    match (args.revisions.as_slice(), what.as_slice()) {
        ([], _) => Err("nothing to compare: name two stored runs (netdyno compare RUN RUN) or two revisions (netdyno \
                        compare WORKLOAD CONTENDER --rev main --rev HEAD)"
            .into()),
        (revisions, [workload, contender]) => match revisions {
            [from] => duel(args, gate, (workload, contender), (from, WORKING_TREE)),
            [from, to] if from != to => duel(args, gate, (workload, contender), (from, to)),
            [from, _] => Err(format!("both revisions are {from}: name two different ones").into()),
            _ => Err(format!("{} revisions: name one or two (with one, the working tree is compared with it)", revisions.len()).into()),
        },
        (_, _) => Err("no contender named: use netdyno compare WORKLOAD CONTENDER --rev main --rev HEAD, or set workload \
                       and contender in netdyno.toml"
            .into()),
    }
}

fn runs(args: &CompareArgs, gate: &FailConditions, (from, to): (&str, &str)) -> CommandResult {
    let store = Store::open(&Store::default_path())?;
    let load = |wanted: &str| store.load(&store.find(wanted)?);
    let (from, to) = match (load(from), load(to)) {
        (Err(StoreError::NoRun(_)), Err(StoreError::NoRun(_)))
            if quiet_catalog().is_ok_and(|catalog| catalog.workload(from).is_ok()) =>
        {
            return Err(format!(
                "{from} is a workload, not a run: to compare revisions, add --rev, as in netdyno compare {from} {to} --rev main"
            )
            .into());
        }
        (from, to) => (from?, to?),
    };
    if from.header.id == to.header.id {
        return Err(format!("both are run {}: name two different runs", from.header.id).into());
    }
    gate.check(&to.header.parsed_workload()?)?;
    let comparison = comparison::across(&from, &to, &gate.tolerances)?;
    let mut details = Vec::new();
    for run in [&from, &to].into_iter().filter(|_| args.format == Format::Markdown) {
        details.push(render(run, ReportFormat::Markdown)?.1);
    }
    show(&comparison, args.format, &details.join("\n"))?;
    Ok(comparison.claim.map_or(GOOD, |claim| gate.code(claim, comparison.is_missing)))
}

/// Compares two revisions of a contender in one run.
fn duel(
    args: &CompareArgs,
    gate: &FailConditions,
    (workload, contender): (&str, &str),
    revisions: (&str, &str),
) -> CommandResult {
    let mut lab = Lab::open(&[workload, contender], cancel_on_signal()?)?;
    gate.check(lab.catalog.workload(workload)?)?;
    let cache = lab.builder.cache();
    let mut add = |revision| revisions::add(&mut lab.catalog, cache, (workload, contender), revision);
    let (from, to) = (add(revisions.0)?, add(revisions.1)?);
    let catalog = &lab.catalog;
    let resolved = run_args(args, catalog, workload, [&from, &to])?.resolve(gate, catalog)?;
    let [a, b] = [catalog.contender(workload, &from)?, catalog.contender(workload, &to)?];
    let both = [(a, from.as_str()), (b, to.as_str())];
    let mut display = Progress::new();
    let changes =
        revisions::changes(catalog, (workload, contender), [revisions.0, revisions.1]).unwrap_or_default();
    match are_identical(&lab, workload, [&from, &to], &mut display) {
        Ok(false) if !changes.is_documentation => {}
        Ok(is_identical) => {
            display.end();
            let missed = is_identical && changes.has_code;
            let reason =
                if is_identical { Unmeasured::Identical { missed } } else { Unmeasured::Documentation };
            let unchanged = comparison::unchanged(workload, both, &gate.tolerances, (reason, &changes.files));
            show(&unchanged, args.format, "")?;
            return Ok(unchanged.claim.map_or(GOOD, |claim| gate.code(claim, missed)));
        }
        Err(BuildError::Cancelled { .. }) => return Ok(INTERRUPTED),
        Err(error) => {
            display.end();
            tell(&error.to_string());
            show(&comparison::not_built(workload, both, &error.to_string()), args.format, "")?;
            return Ok(CELL_FAILED);
        }
    }
    let (id, ended) = lab.engine(&mut display).start(&resolved)?;
    let mut store = lab.store;
    let run = store.load(&id)?;
    let (report, details) = render(&run, ReportFormat::Markdown)?;
    keep_printed(&mut store, &report)?;
    let metrics = run.header.parsed_workload()?.metrics;
    let comparison = comparison::within(&report, &metrics, (&from, &to), &gate.tolerances);
    show(&comparison, args.format, &details)?;
    Ok(match ended {
        Ended::Interrupted => INTERRUPTED,
        Ended::Finished => gate.code_after(&report, comparison.claim, comparison.is_missing),
    })
}

/// Builds both. True if they are identical: built from the same inputs and started in the same way.
fn are_identical(
    lab: &Lab,
    workload: &str,
    names: [&String; 2],
    display: &mut Progress,
) -> Result<bool, BuildError> {
    let mut identities = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        let Ok(contender) = lab.catalog.contender(workload, name) else { return Ok(false) };
        let built =
            lab.builder.build(contender, &mut |event| display.building(name, index, names.len(), &event))?;
        identities.push((built.record.key, contender.roles.clone()));
    }
    Ok(identities[0] == identities[1])
}

/// The arguments of the run that compares two revisions.
fn run_args(
    args: &CompareArgs,
    catalog: &Catalog,
    workload: &str,
    [from, to]: [&String; 2],
) -> Result<RunArgs, ManifestError> {
    let presets = &catalog.workload(workload)?.presets;
    let preset = presets.contains_key(PRESET).then(|| PRESET.to_owned());
    Ok(RunArgs {
        workload: Some(workload.to_owned()),
        contenders: vec![from.clone(), to.clone()],
        baseline: Some(from.clone()),
        preset: args.preset.clone().or(preset),
        set: args.set.clone(),
        budget: Some(args.budget.unwrap_or(BUDGET)),
        max_blocks: Some(args.max_blocks.unwrap_or(SESSIONS_MAX)),
        seed: args.seed,
        placement: args.placement,
        net: args.net.clone(),
        awake: args.awake,
        no_ceiling: true,
        ..RunArgs::default()
    })
}

fn show(comparison: &Comparison, format: Format, details: &str) -> Result<(), serde_json::Error> {
    match format {
        Format::Table => print(&terminal(comparison, columns())),
        Format::Json => print_json(comparison)?,
        Format::Markdown => print(&markdown(comparison, details)),
    }
    Ok(())
}
