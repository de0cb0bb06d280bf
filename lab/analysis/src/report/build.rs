//! Builds the report of a stored run, from the store alone.

use std::collections::{BTreeMap, BTreeSet};

use super::format;
use super::in_turns::{self, Compared};
use super::model::{Cell, CurvePoint, MetricValue, Report, RunInfo, SCHEMA_VERSION};
use crate::duels::Duels;
use crate::effects::matrices;
use crate::generator::{self, SATURATED};
use crate::load::{self, Load};
use crate::metrics::{self, Pool};
use crate::verdicts::{self, Judge};
use netdyno_lab_manifest::{Better, Metric, ParamSpec, ParamValue, Params, Placement, Source, Workload};
use netdyno_lab_store::{BuildRecord, CellStatus, Outcome, Run, StoreError, TrialRecord, Verdict};

/// Builds the report of a run. Its stored manifest is unreadable if the store is damaged, or was written by a later
/// netdyno.
pub fn build(run: &Run) -> Result<Report, StoreError> {
    let workload = run.header.parsed_workload()?;
    let judge = Judge::new(run, &workload);
    let (cells, between): (Vec<Cell>, Vec<_>) =
        (0..run.cells.len()).map(|i| cell(run, &workload, &judge.duels, i)).unzip();
    let verdicts = workload.metrics.iter().flat_map(|m| verdicts_of(&judge, m, &cells)).collect();
    let warnings = run.header.warnings.iter().cloned().chain(local_builds(run));
    let between: BTreeSet<String> = between.into_iter().flatten().collect();
    Ok(Report {
        schema_version: SCHEMA_VERSION,
        run: run_info(run, &workload, &judge.duels),
        host: run.header.host.clone(),
        cells: with_ceiling(run, &workload, &judge, cells),
        verdicts,
        effects: workload.primary().map_or_else(Vec::new, |m| matrices(run, &judge, &workload.roles, m)),
        warnings: warnings.chain(between).collect(),
    })
}

fn run_info(run: &Run, workload: &Workload, duels: &Duels<'_>) -> RunInfo {
    let header = &run.header;
    let settings = &header.settings;
    let compared = Compared::new(run, workload, duels);
    let blocks = compared.fewest(run);
    RunInfo {
        id: header.id.clone(),
        workload: header.workload.clone(),
        title: workload.title.clone(),
        started_at: header.started_at.to_string(),
        status: run.status,
        stopped_because: run.stopped_because.as_str().to_owned(),
        blocks,
        compared_by: compared.method().to_owned(),
        no_duels: compared.no_duels.clone(),
        lab_version: header.lab_version.clone(),
        command: header.command.clone(),
        preset: settings.preset.clone(),
        seed: settings.seed,
        arena: header.arena.clone(),
        placement: placement(settings.placement).0.to_owned(),
        awake: settings.awake,
        alpha: settings.alpha,
        margin: settings.margin,
        roles: workload.roles.clone(),
        partners: workload.partners.iter().map(|(role, name)| (role.clone(), name.clone())).collect(),
        primary: workload.primary().map_or(String::new(), |m| m.name.clone()),
        headline: headline(run, workload, &compared),
    }
}

fn placement(placement: Placement) -> (&'static str, &'static str) {
    match placement {
        Placement::Apart => ("apart", "one role per core"),
        Placement::Shared => ("shared", "roles share all cores"),
    }
}

/// `datachannel · 10 pairs · 1 KiB · ordered · loopback namespace · one role per core · 6 blocks, stopped: decided`
fn headline(run: &Run, workload: &Workload, compared: &Compared) -> String {
    let mut parts = vec![run.header.workload.clone()];
    let groups = verdicts::groups(run);
    if let Some((first, _)) = groups.first() {
        for (name, spec) in workload.params.iter().filter(|(_, s)| s.headline) {
            let same = groups.iter().all(|(p, _)| p.get(name) == first.get(name));
            match first.get(name) {
                Some(value) if same => parts.push(param(name, value, spec)),
                _ => parts.push(format!("{name} varies")),
            }
        }
    }
    parts.extend(conditions(run));
    let effort = compared.effort(run);
    parts.push(match run.stopped_because.as_str() {
        "" => format!("{effort} so far"),
        why => format!("{effort}, stopped: {why}"),
    });
    parts.join(" · ")
}

/// Parameters and conditions of a run, without the effort: `10 pairs`, `1 KiB`, `loopback namespace`.
pub fn described(run: &Run, workload: &Workload, params: &Params) -> Vec<String> {
    let shown = workload.params.iter().filter(|(_, spec)| spec.headline);
    let shown = shown.filter_map(|(name, spec)| Some(param(name, params.get(name)?, spec)));
    shown.chain(conditions(run)).collect()
}

fn conditions(run: &Run) -> Vec<String> {
    let settings = &run.header.settings;
    let awake = settings.awake.then(|| "CPUs kept awake".to_owned());
    [settings.net.to_string(), placement(settings.placement).1.to_owned()].into_iter().chain(awake).collect()
}

/// Display text of a parameter: `10 connections`, `1 KiB`, `ordered`, `not ordered`.
fn param(name: &str, value: &ParamValue, spec: &ParamSpec) -> String {
    match (value, spec.unit.as_deref()) {
        (ParamValue::Integer(0), _) if spec.zero.is_some() => spec.zero.clone().unwrap_or_default(),
        (ParamValue::Boolean(true), _) => name.to_owned(),
        (ParamValue::Boolean(false), _) => format!("not {name}"),
        (ParamValue::Integer(n), Some("bytes")) => {
            u64::try_from(*n).map_or_else(|_| n.to_string(), format::bytes)
        }
        (value, Some(unit)) => format!("{value} {unit}"),
        (value, None) => value.to_string(),
    }
}

/// The parameters of one group in which the groups of a run differ: `message_bytes=64`.
pub fn differing(
    all: &[&BTreeMap<String, serde_json::Value>],
    params: &BTreeMap<String, serde_json::Value>,
) -> String {
    let differs = |(name, value): &(&String, &serde_json::Value)| {
        all.iter().any(|other| other.get(*name) != Some(*value))
    };
    let texts = params.iter().filter(differs).map(|(name, value)| format!("{name}={value}"));
    texts.collect::<Vec<_>>().join(" ")
}

/// The parameters of a cell in which the cells of a report differ.
pub fn differing_params(report: &Report, cell: &Cell) -> String {
    let all: Vec<_> = report.cells.iter().map(|c| &c.params).collect();
    differing(&all, &cell.params)
}

/// A cell of the report, and a warning about it.
fn cell(run: &Run, workload: &Workload, duels: &Duels<'_>, index: usize) -> (Cell, Option<String>) {
    let record = &run.cells[index];
    let trials: Vec<&TrialRecord> = run.trials.iter().filter(|t| t.cell == index).collect();
    let good = trials.iter().filter(|t| t.outcome == Outcome::Ok).count();
    let mut notes: Vec<String> = trials.iter().flat_map(|t| t.notes.iter().cloned()).collect();
    notes.sort();
    notes.dedup();
    let counted = duels.counted(index);
    let pool = Pool::new(&counted);
    let load = load::of_cell(workload, &record.params, &counted);
    let metrics: BTreeMap<String, MetricValue> =
        workload.metrics.iter().map(|m| (m.name.clone(), metric_value(m, &record.params, &pool))).collect();
    let label = record.label(&workload.roles);
    let between = workload.primary().and_then(|primary| between_groups(&label, primary, &pool));
    let shared = run.header.settings.placement == Placement::Shared;
    let cell = Cell {
        contender: record.contender().map(str::to_owned),
        roles: record.contenders.clone(),
        partners: record.partners.iter().cloned().collect(),
        label,
        params: params_json(&record.params),
        ceiling: record.ceiling,
        status: record.status,
        reason: record.reason.clone(),
        stderr: stderr(&trials),
        remedy: record.remedy.clone(),
        trials: u32::try_from(good).unwrap_or(u32::MAX),
        bottleneck: bottleneck(workload, &counted, load.as_ref(), shared) + &events(workload, &metrics),
        generator_limited: generator::limit(workload, load.as_ref(), &counted).is_some(),
        metrics,
        load,
        turns: in_turns::of_cell(run, workload, index, &counted),
        curves: curves(&pool),
        builds: record.builds.clone(),
        inputs: record.inputs.clone(),
        implementations: record.implementations.clone(),
        notes,
    };
    (cell, between)
}

/// Warnings about local builds, which do not represent the release of their version.
fn local_builds(run: &Run) -> BTreeSet<String> {
    let builds = run.cells.iter().flat_map(|cell| &cell.builds);
    let warning = |(name, build): (&String, &BuildRecord)| {
        let local = build.local.as_ref()?;
        Some(format!("{name} is a local build, not the release {}: {local}", build.version))
    };
    builds.filter_map(warning).collect()
}

/// Warning if the primary metric is a quantile that lies between two groups of values.
fn between_groups(label: &str, primary: &Metric, pool: &Pool<'_>) -> Option<String> {
    let (below, above) = pool.between_groups(primary)?;
    let [below, above] = [below, above].map(|v| format::value(v as f64, &primary.unit));
    Some(format!(
        "{label}: {} lies between two groups of values, up to {below} and from {above}, and is sensitive to their shares",
        primary.label
    ))
}

/// stderr of the role at fault, from the trial that ended the cell.
fn stderr(trials: &[&TrialRecord]) -> String {
    let failed = trials.iter().rev().find_map(|t| match &t.outcome {
        Outcome::Failed { stderr, .. } => Some(stderr.clone()),
        _ => None,
    });
    failed.unwrap_or_default()
}

/// Counts above 0 of undesired events that have no column.
fn events(workload: &Workload, metrics: &BTreeMap<String, MetricValue>) -> String {
    let unwanted =
        |m: &&Metric| matches!(m.from, Source::Count { .. }) && !m.column && m.better == Better::Lower;
    let counted = |m: &Metric| {
        let n = metrics.get(&m.name)?.value.filter(|n| *n > 0.0)?;
        Some(format!(", {n:.0} {}", m.label))
    };
    workload.metrics.iter().filter(unwanted).filter_map(counted).collect()
}

pub(super) fn params_json(params: &Params) -> BTreeMap<String, serde_json::Value> {
    params.iter().map(|(name, value)| (name.to_owned(), serde_json::json!(value))).collect()
}

fn metric_value(metric: &Metric, params: &Params, pool: &Pool<'_>) -> MetricValue {
    let figure = pool.figure(metric, params);
    MetricValue {
        value: figure.value,
        unit: metric.unit.clone(),
        source: figure.source,
        per_role: figure.per_role,
        of_ceiling: None,
        of_ceiling_low: None,
        of_ceiling_high: None,
        samples: pool.samples(metric, params),
    }
}

/// Adds the share of the ceiling in the primary metric at the same parameters: from the ratios to the baseline if both were
/// compared in duels, else from the values.
fn with_ceiling(run: &Run, workload: &Workload, judge: &Judge<'_>, mut cells: Vec<Cell>) -> Vec<Cell> {
    let Some(primary) = workload.primary() else { return cells };
    let judged = judge.verdicts(primary);
    for (_, members) in verdicts::groups(run) {
        let value = |cell: &Cell| cell.metrics.get(&primary.name).and_then(|m| m.value);
        let bound = members.iter().copied().find(|&i| cells[i].ceiling && cells[i].status == CellStatus::Ok);
        let Some((ceiling, bound)) = bound.and_then(|i| Some((i, value(&cells[i]).filter(|b| *b > 0.0)?)))
        else {
            continue;
        };
        let higher = primary.better == Better::Higher;
        for i in members {
            let share = judged.iter().find_map(|v| in_turns::share(v, i, ceiling, higher));
            if let Some(metric) = cells[i].metrics.get_mut(&primary.name) {
                metric.of_ceiling = metric.value.map(|v| if higher { v / bound } else { bound / v });
                if let Some((share, low, high)) = share {
                    metric.of_ceiling = Some(share);
                    (metric.of_ceiling_low, metric.of_ceiling_high) = (low, high);
                }
            }
        }
    }
    cells
}

fn curves(pool: &Pool<'_>) -> BTreeMap<String, Vec<CurvePoint>> {
    let points = |curve: Vec<(f64, u64)>| {
        curve.into_iter().map(|(quantile, value)| CurvePoint { quantile, value }).collect()
    };
    pool.curves().into_iter().map(|((role, name), curve)| (format!("{role}.{name}"), points(curve))).collect()
}

/// Whether the offered load was sustained, and the bottleneck of the cell.
fn bottleneck(workload: &Workload, trials: &[&TrialRecord], load: Option<&Load>, shared: bool) -> String {
    // A role that paces a load is always busy. It is the bottleneck only if the load was not sustained.
    let paced = load.is_some_and(|l| !l.is_missed());
    let pacing = workload.offered.as_ref().filter(|_| paced).map(|o| o.role.as_str());
    let limit = generator::limit(workload, load, trials);
    let busy = limit.unwrap_or_else(|| busiest(workload, trials, pacing, shared));
    match load {
        None => busy,
        Some(Load { held: Some(true), offered, achieved }) => {
            let share = achieved / offered;
            // Held within the tolerance for stalls and requests in flight: print the exact share.
            let is_exact = (share - 1.0).abs() <= load::TOLERANCE;
            let to = if is_exact { String::new() } else { format!(" to {:.1} %", 100.0 * share) };
            format!("rate held{to}, {busy}")
        }
        Some(Load { held: None, .. }) => format!("window too short to verify the rate, {busy}"),
        Some(Load { held: Some(false), offered, achieved }) => {
            let rate = format::value(*offered, "1/s");
            format!("rate not sustained: {:.2} % of {rate}, {busy}", 100.0 * achieved / offered)
        }
    }
}

/// The saturated role and the datagrams dropped at full sockets, else the utilisation of each role. A role that paces a load
/// is omitted.
fn busiest(workload: &Workload, trials: &[&TrialRecord], pacing: Option<&str>, shared: bool) -> String {
    let all = generator::utilisation(workload, trials);
    let sum: f64 = all.iter().map(|(_, s)| s).sum();
    let shares: Vec<(String, f64)> =
        all.into_iter().filter(|(r, _)| pacing != Some(r.as_str()) || workload.roles.len() == 1).collect();
    if shares.is_empty() {
        return "not measured".to_owned();
    }
    let drops = metrics::median(&trials.iter().filter_map(|t| metrics::udp_drops(t)).collect::<Vec<_>>());
    let drops = drops.filter(|d| *d >= 1.0).map_or(String::new(), |d| format!(", {d:.0} UDP drops"));
    let busy = generator::utilisation_text(&shares);
    // Roles that share all CPUs can only saturate them together.
    if shared && sum >= SATURATED {
        return format!("all CPUs ({busy}){drops}");
    }
    let saturated: Vec<&str> =
        shares.iter().filter(|(_, s)| *s >= SATURATED).map(|(r, _)| r.as_str()).collect();
    if !saturated.is_empty() {
        return format!("{} CPU{drops}", saturated.join(" and "));
    }
    format!("waiting ({busy}){drops}")
}

fn verdicts_of(judge: &Judge<'_>, metric: &Metric, cells: &[Cell]) -> Vec<Verdict> {
    let finite = |v: f64| v.is_finite().then_some(v);
    judge
        .verdicts(metric)
        .into_iter()
        .flat_map(|group| {
            let ranked = group.judgements.into_iter().filter(|(index, _)| !cells[*index].ceiling);
            ranked.map(move |(index, j)| Verdict {
                metric: group.metric.clone(),
                contender: cells[index].label.clone(),
                baseline: cells[group.baseline].label.clone(),
                cell: index,
                ratio: finite(j.ratio),
                low: finite(j.low).filter(|l| *l > 0.0),
                high: finite(j.high),
                unit: j.unit.noun(1).to_owned(),
                blocks: j.blocks,
                p_adjusted: j.p_adjusted,
                verdict: j.verdict,
                needs_blocks: j.needs_blocks,
            })
        })
        .collect()
}
