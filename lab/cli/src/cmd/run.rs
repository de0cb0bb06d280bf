//! `netdyno run`.

use std::io::Write;

use super::fail_conditions::FailConditions;
use super::progress::Progress;
use super::{CommandResult, INTERRUPTED, Lab, cancel_on_signal, keep_printed, place, print, render, tell};
use crate::cli::{RunArgs, UNFINISHED};
use netdyno_lab_analysis::comparison;
use netdyno_lab_analysis::report::Report;
use netdyno_lab_engine::build::install_all;
use netdyno_lab_engine::run::{Ended, More, RunError};
use netdyno_lab_manifest::project::Project;
use netdyno_lab_report::history;
use netdyno_lab_store::{Run, StoreError};

/// Measures, and prints the report.
pub(crate) fn run(args: &RunArgs) -> CommandResult {
    let mut conditions = FailConditions::new(&args.fail_on)?;
    let mut lab = Lab::open(&named(args), cancel_on_signal()?)?;
    let mut display = Progress::new();
    let mut engine = lab.engine(&mut display);
    let measured = match &args.resume {
        Some(wanted) => {
            let id = if wanted == UNFINISHED {
                engine.store.find_unfinished()?
            } else {
                engine.store.find(wanted)?
            };
            let more = args.budget.map(|budget| budget.as_secs_f64());
            engine.resume(&id, more.map(|seconds| More { seconds, asked: args.ask.clone() }).as_ref())
        }
        None => {
            let args = with_project(args, place::project()?.unwrap_or_default())?;
            let resolved = args.resolve(&conditions, engine.catalog)?;
            conditions.check(&resolved.workload)?;
            engine.start(&resolved)
        }
    };
    if let Err(RunError::BrokeOff { id, .. }) = &measured {
        tell(&to_continue(id));
    }
    let (id, ended) = measured?;
    let mut store = lab.store;
    let run = store.load(&id)?;
    let (report, text) = render(&run, args.format)?;
    print(&text);
    keep_printed(&mut store, &report)?;
    // A cache for lists and histories, which can recompute it.
    if let Err(error) = history::store_digest(&store, &run, &report) {
        tracing::warn!(%error, "cannot cache the summary of the run");
    }
    if let Some(command) = install_all(report.cells.iter().map(|cell| cell.remedy.as_str())) {
        let _ = writeln!(anstream::stderr(), "to measure the skipped contenders too:\n  {command}");
    }
    if ended == Ended::Interrupted {
        tell(&format!("interrupted; {}", to_continue(&id)));
        return Ok(INTERRUPTED);
    }
    conditions.add_stored(&run.header.settings);
    let (code, sentences) = judged(&conditions, &run, &report)?;
    sentences.iter().for_each(|sentence| tell(sentence));
    Ok(code)
}

/// The exit code of a run, and the claims that it follows from.
pub(super) fn judged(
    conditions: &FailConditions,
    run: &Run,
    report: &Report,
) -> Result<(u8, Vec<String>), StoreError> {
    if conditions.tolerances.is_empty() {
        return Ok((conditions.code_after(report, None, false), Vec::new()));
    }
    let metrics = run.header.parsed_workload()?.metrics;
    let baseline = run.header.settings.baseline.as_deref();
    let claims = comparison::claims(report, &metrics, baseline, &conditions.tolerances);
    let is_missing = claims.is_empty() || claims.iter().any(|c| c.is_missing);
    let code = conditions.code_after(report, Some(comparison::worst(&claims)), is_missing);
    let none = "--fail-on could not be tested: no contender was compared with a baseline";
    let none = claims.is_empty().then(|| none.to_owned());
    Ok((code, claims.into_iter().map(|c| c.sentence).chain(none).collect()))
}

fn to_continue(id: &str) -> String {
    format!("to continue: netdyno run --resume {id}")
}

fn named(args: &RunArgs) -> Vec<&str> {
    let names = [&args.workload, &args.against, &args.baseline].into_iter().flatten();
    names.chain(&args.contenders).map(String::as_str).collect()
}

/// The arguments with defaults from the project.
pub(super) fn with_project(args: &RunArgs, project: Project) -> Result<RunArgs, &'static str> {
    let typed = args.workload.clone().or_else(|| project.workload.clone());
    let workload = typed.ok_or(
        "no WORKLOAD named: see `netdyno list`, or set one in a netdyno.toml in this folder or above",
    )?;
    // The project's baseline applies to the project's workload only.
    let usual =
        project.baseline.filter(|_| project.workload.as_ref() == Some(&workload) && args.against.is_none());
    let baseline = args.baseline.clone().or(usual);
    Ok(RunArgs { workload: Some(workload), baseline, ..args.clone() })
}
