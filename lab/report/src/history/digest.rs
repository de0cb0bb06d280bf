//! The part of a run that a history needs: the figures of its report, by conditions and contender.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use netdyno_lab_analysis::report::{self, Cell, Report, plain};
use netdyno_lab_manifest::Better;
use netdyno_lab_store::{CellStatus, Run, StoreError};

/// Version of digests. Increase it when their contents or the computation of figures change.
pub(super) const VERSION: u32 = 1;

/// The figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// Metrics of the workload at the time of the run.
    pub(super) metrics: Vec<MetricInfo>,
    pub(super) groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MetricInfo {
    pub(crate) name: String,
    pub(crate) label: String,
    /// Whether more is better.
    pub(super) higher: bool,
    /// Whether contenders are ranked by it.
    pub(crate) primary: bool,
}

/// Cells that share their conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Group {
    /// The most important conditions, for display.
    pub(super) title: String,
    /// All conditions that must be equal for two runs to be comparable, by name.
    pub(super) conditions: BTreeMap<String, String>,
    /// Label of the baseline; none if nothing was compared.
    pub(super) baseline: Option<String>,
    /// Facts about machine and lab that may differ between comparable runs.
    pub(super) facts: BTreeMap<String, String>,
    pub(super) cells: Vec<Figures>,
}

/// The figures of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) label: String,
    pub(super) ceiling: bool,
    /// Version and build of each contender of the cell.
    pub(super) facts: BTreeMap<String, String>,
    pub(super) metrics: BTreeMap<String, RatioFigure>,
}

/// One figure, as ratios within its run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct RatioFigure {
    /// Ratio to the baseline.
    pub(super) versus: Option<Within>,
    pub(super) of_ceiling: Option<Within>,
}

/// A ratio and its interval. Unbounded ends are none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Within {
    pub(crate) ratio: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

impl Digest {
    pub(super) fn new(run: &Run, report: &Report) -> Result<Digest, StoreError> {
        let workload = run.header.parsed_workload()?;
        let metrics = workload.metrics.iter().map(|m| MetricInfo {
            name: m.name.clone(),
            label: m.label.clone(),
            higher: m.better == Better::Higher,
            primary: m.primary,
        });
        let (settings, host) = (&run.header.settings, &run.header.host);
        let groups = netdyno_lab_analysis::verdicts::groups(run).into_iter().map(|(params, members)| {
            let baseline =
                report.verdicts.iter().find(|v| members.contains(&v.cell)).map(|v| v.baseline.clone());
            let mut conditions: BTreeMap<String, String> =
                params.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
            let common = [
                ("network", settings.net.to_string()),
                ("placement", report.run.placement.clone()),
                ("compared by", report.run.compared_by.clone()),
                ("CPUs kept awake", settings.awake.to_string()),
                ("role", settings.role.clone().unwrap_or_default()),
                ("machine", format!("{}, {} CPUs ({} cores)", host.cpu, host.cpus, host.cores)),
                ("baseline", baseline.clone().unwrap_or_default()),
            ];
            conditions.extend(common.map(|(name, value)| (format!("({name})"), value)));
            let cells = members.iter().map(|&i| (i, &report.cells[i]));
            let ok = cells.filter(|(_, cell)| cell.status == CellStatus::Ok);
            Group {
                title: report::described(run, &workload, &params).join(" · "),
                conditions,
                baseline,
                facts: facts_of(run),
                cells: ok.map(|(i, cell)| figures(report, i, cell)).collect(),
            }
        });
        Ok(Digest { metrics: metrics.collect(), groups: groups.collect() })
    }
}

fn facts_of(run: &Run) -> BTreeMap<String, String> {
    let host = &run.header.host;
    [
        ("netdyno", run.header.lab_version.clone()),
        ("kernel", host.kernel.clone()),
        ("governor", host.governor.clone()),
        ("SMT", host.smt.clone()),
        ("mitigations", host.mitigations.join(", ")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn figures(report: &Report, index: usize, cell: &Cell) -> Figures {
    let build = |(name, build): (&String, &netdyno_lab_store::BuildRecord)| {
        let key: String = build.key.chars().take(8).collect();
        (name.clone(), format!("{} ({}, build {key})", build.version, build.toolchain))
    };
    let metrics = cell.metrics.iter().map(|(name, value)| {
        let verdict = report.verdicts.iter().find(|v| v.cell == index && v.metric == *name);
        let versus = verdict.and_then(|v| Some(Within { ratio: v.ratio?, low: v.low, high: v.high }));
        let share = |ratio| Within { ratio, low: value.of_ceiling_low, high: value.of_ceiling_high };
        (name.clone(), RatioFigure { versus, of_ceiling: value.of_ceiling.filter(|s| *s > 0.0).map(share) })
    });
    Figures {
        label: cell.label.clone(),
        ceiling: cell.ceiling,
        facts: cell.builds.iter().map(build).collect(),
        metrics: metrics.collect(),
    }
}

/// Outcome of a run for lists: the answer, and the numbers of failed and skipped cells.
pub(super) fn outcome(run: &Run, report: &Report) -> Result<String, StoreError> {
    let answer = crate::html::sentence(report, &run.header.parsed_workload()?);
    let count = |(status, word)| {
        let n = report.cells.iter().filter(|c| c.status == status).count();
        (n > 0).then(|| format!("{n} {word}"))
    };
    let without = [(CellStatus::Failed, "failed"), (CellStatus::Skipped, "skipped")];
    let parts: Vec<String> = [answer].into_iter().chain(without.into_iter().filter_map(count)).collect();
    Ok(plain(&parts.join(" · ")))
}
