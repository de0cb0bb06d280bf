//! Explains the difference between two cells by their resource use per unit of work, ranked by contribution.
//!
//! | does | does not |
//! |---|---|
//! | compute everything from the store: trials and results of probes | use probed trials as measurements |
//! | use tools of the system from outside | rebuild or instrument contenders |
//! | report what could not be probed, and why | report differences that are within the sampling error |
//!
//! [`parse`] reads the output of the tools; [`equalise`] computes how much of a gap closes.

pub mod equalise;
pub mod figures;
mod model;
pub mod parse;
pub mod profile;
pub mod rank;
mod summary;

use figures::{Pair, Probes, WorkUnit};
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::probe::Found;
use netdyno_lab_store::{CellStatus, Run};
use netdyno_stats::{Interval, Unit as Compared};
use rank::Basis;

pub use model::{
    CallDifference, Cause, Closes, Equalised, Explanation, FunctionDifference, Look, Primary, Ratio,
    SCHEMA_VERSION,
};

/// The cells of two contenders at the first parameter setting with successful trials of both.
pub fn pair<'a>(run: &'a Run, workload: &'a Workload, names: [&str; 2]) -> Result<Pair<'a>, String> {
    let label = |index: usize| run.cells[index].label(&workload.roles);
    let good = |index: &usize| run.cells[*index].status == CellStatus::Ok;
    let with_label = |name: &str| (0..run.cells.len()).filter(|i| label(*i) == name).collect::<Vec<_>>();
    let [a, b] = names.map(with_label);
    for (name, cells) in names.iter().zip([&a, &b]) {
        if cells.is_empty() {
            let mut all: Vec<String> = (0..run.cells.len()).map(label).collect();
            all.dedup();
            return Err(format!("no {name} in run {}; known: {}", run.header.id, all.join(", ")));
        }
        if !cells.iter().any(good) {
            let why = &run.cells[cells[0]].reason;
            return Err(format!("{name} has no successful trial in run {}: {why}", run.header.id));
        }
    }
    let same =
        |i: &usize| b.iter().copied().filter(good).find(|j| run.cells[*i].params == run.cells[*j].params);
    let found = a.iter().filter(|i| good(i)).find_map(|i| Some([*i, same(i)?]));
    let cells = found.ok_or("there is no parameter setting at which both were measured")?;
    Ok(Pair { run, workload, cells })
}

/// Explains a pair, from stored rows alone.
pub fn explain(pair: &Pair<'_>, probes: &Probes) -> Result<Explanation, String> {
    let workload = pair.workload;
    let unit = WorkUnit::new(workload)?;
    let basis = Basis::new(pair, &unit);
    let (causes, difference_ns) = rank::causes(pair, &unit, probes, &basis);
    let [a, b] = pair.cells.map(|cell| pair.run.cells[cell].label(&workload.roles));
    let metric = workload.primary().ok_or("the workload has no primary metric")?;
    let [first, second] = pair.values(metric);
    let primary = Primary {
        label: metric.label.clone(),
        unit: metric.unit.clone(),
        a: first,
        b: second,
        ratio: pair.ratio(metric).map(|(interval, unit, count)| ratio(interval, unit, count)),
    };
    let params = workload.params.iter().filter(|(_, spec)| spec.headline).filter_map(|(name, _)| {
        Some(format!("{name} {}", pair.run.cells[pair.cells[0]].params.0.get(name)?))
    });
    let mut explanation = Explanation {
        schema_version: SCHEMA_VERSION,
        run: pair.run.header.id.clone(),
        workload: workload.name.clone(),
        params: params.collect::<Vec<_>>().join(", "),
        unit: unit.name.clone(),
        a,
        b,
        primary,
        basis: basis.about(),
        difference_ns,
        summary: Vec::new(),
        causes,
        rows: pair.rows(&unit, probes),
        looks: Vec::new(),
        equalised: Vec::new(),
        warnings: pair.run.header.warnings.clone(),
    };
    explanation.looks = looks(&explanation, probes);
    explanation.summary = summary::sentences(&explanation);
    Ok(explanation)
}

/// Converts a log ratio to a ratio with its interval.
pub fn ratio(interval: Interval, unit: Compared, count: usize) -> Ratio {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    Ratio {
        value: interval.estimate.exp(),
        low: interval.low.exp(),
        high: Some(interval.high.exp()).filter(|high| high.is_finite()),
        of: format!("{count} {}", unit.noun(count)),
    }
}

fn looks(explanation: &Explanation, probes: &Probes) -> Vec<Look> {
    let names = [&explanation.a, &explanation.b];
    let looks = |side: usize| {
        probes.sides[side].values().zip(probes.sides[side].keys()).map(move |(probe, (role, kind))| Look {
            contender: names[side].clone(),
            role: role.clone(),
            kind: kind.as_str().to_owned(),
            source: probe.source.clone(),
            speed: probe.speed,
            problem: match &probe.found {
                Err(why) => Some(why.clone()),
                Ok(Found::Syscalls { lost, .. }) if *lost > 0 => {
                    Some(format!("{lost} events were lost: counts are lower bounds"))
                }
                Ok(_) => None,
            },
        })
    };
    [0, 1].into_iter().flat_map(looks).collect()
}
