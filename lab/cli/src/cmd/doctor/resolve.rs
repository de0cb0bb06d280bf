//! `netdyno doctor --resolve`: finds the smallest slowdown that is detected on this machine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::against_itself::able;
use super::held::hold;
use crate::cli::{DoctorArgs, Format};
use crate::cmd::{CELL_FAILED, CommandResult, DIFFERS, GOOD, INTERRUPTED, Lab, print, print_json};
use crate::doctor::losses::{InjectedLoss, Resolution, metric_of, next, percent, plan};
use netdyno_lab_engine::run::Position;
use netdyno_lab_manifest::{ManifestError, Workload};
use netdyno_lab_report::{columns, grid, markdown_table, wrapped};

/// Runs the control and the duels, and prints their results and the conclusion.
pub(super) fn run(args: &DoctorArgs, workload: &str, cancel: Arc<AtomicBool>) -> CommandResult {
    let named: Vec<&str> = [workload].into_iter().chain(args.contender.as_deref()).collect();
    let mut lab = Lab::open(&named, cancel)?;
    let workload = lab.catalog.workload(workload)?.clone();
    let metric = metric_of(&lab.catalog, &workload)?.label.clone();
    let contender = contender(&lab, &workload, args.contender.as_deref())?;
    let budget_s = args.budget.as_secs_f64();
    let mut all =
        Resolution { workload: workload.name.clone(), metric, contender, budget_s, found: Vec::new() };
    while let Some(loss) = next(&all.found) {
        let plan = plan(&lab.catalog, &workload, &all.contender, loss, budget_s)?;
        let place = format!("{}: slowdown {}", all.contender, percent(loss));
        let so_far =
            |at: &Position<'_>| format!("session {}, {:.0} of {} s", at.block + 1, at.elapsed_s, at.budget_s);
        let Some((run, duel)) = hold(&mut lab, &plan, place, so_far)? else { break };
        all.found.push(InjectedLoss { loss, run: run.header.id, duel, warnings: run.header.warnings });
    }
    match args.format {
        Format::Json => print_json(&all.to_json())?,
        Format::Markdown => {
            print(&format!("{}\n{}\n", markdown_table(&HEAD.map(str::to_owned), &rows(&all)), all.answer()));
            warnings(&all).for_each(|text| print(&format!("\n> {text}\n")));
        }
        Format::Table => {
            print(&format!("{}\n", grid(&HEAD.map(str::to_owned), &rows(&all), columns())));
            print(&format!("{}\n", wrapped(&all.answer(), columns(), " ", " ")));
            warnings(&all).for_each(|text| print(&format!("{}\n", wrapped(&text, columns(), " ", "   "))));
        }
    }
    Ok(match () {
        () if lab.is_cancelled() => INTERRUPTED,
        () if all.has_failed() => CELL_FAILED,
        () if all.is_unlike_itself() => DIFFERS,
        () => GOOD,
    })
}

/// The named contender, else the workload's baseline, else the first that can run here.
fn contender(lab: &Lab, workload: &Workload, named: Option<&str>) -> Result<String, ManifestError> {
    if let Some(name) = named.or(workload.baseline.as_deref()) {
        return Ok(lab.catalog.contender(&workload.name, name)?.name.clone());
    }
    let none =
        || ManifestError::Value { name: "resolve".to_owned(), rule: "no contender can run here".to_owned() };
    able(lab, workload).into_iter().next().ok_or_else(none)
}

/// Warnings of each duel. On a busy machine the answer means little.
fn warnings(all: &Resolution) -> impl Iterator<Item = String> {
    let each = all.found.iter().flat_map(|f| f.warnings.iter().map(|text| (f.loss, text)));
    each.map(|(loss, text)| format!("warning: slowdown {}: {text}", percent(loss)))
}

const HEAD: [&str; 7] =
    ["slowdown", "expected", "measured", "interval", "sessions", "detected", "correct size"];

fn rows(all: &Resolution) -> Vec<Vec<String>> {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let row = |f: &InjectedLoss| {
        let figures = match f.duel {
            Some(d) => [
                format!("{:.3}x", d.ratio),
                format!("({:.3} - {:.3})", d.low, d.high),
                d.sessions.to_string(),
                yes(f.is_detected()),
                yes(f.is_true()),
            ],
            None => ["failed", "", "", "", ""].map(str::to_owned),
        };
        let loss = if f.loss == 0 { "none".to_owned() } else { percent(f.loss) };
        [loss, format!("{:.3}x", f.expected())].into_iter().chain(figures).collect()
    };
    all.found.iter().map(row).collect()
}
