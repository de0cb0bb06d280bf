//! The report as data. Its JSON Schema is printed by `netdyno schema report`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::effects::Effects;
use crate::load::Load;
use netdyno_lab_manifest::Expected;
use netdyno_lab_protocol::Implementation;
use netdyno_lab_store::{BuildRecord, CellStatus, Host, RunStatus, Verdict};

/// Version of the report's schema. Fields are added within a version, never changed.
pub const SCHEMA_VERSION: u32 = 1;

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of this schema.
    pub schema_version: u32,
    /// The run.
    pub run: RunInfo,
    /// The machine.
    pub host: Host,
    /// The cells, including failed and skipped ones.
    pub cells: Vec<Cell>,
    /// Verdicts on the contenders, relative to the baseline.
    pub verdicts: Vec<Verdict>,
    /// Effects of each contender in each role on the primary metric, in a matrix run.
    #[serde(default)]
    pub effects: Vec<Effects>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// The run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// Workload.
    pub workload: String,
    /// Title of the workload.
    pub title: String,
    /// Start time: RFC 3339.
    pub started_at: String,
    /// Status of the run.
    pub status: RunStatus,
    /// Reason why it stopped.
    pub stopped_because: String,
    /// Complete blocks; in duels, the minimum number of sessions of the contenders without failure.
    pub blocks: u32,
    /// How contenders are compared: `duels`, `blocks`, or both.
    #[serde(default)]
    pub compared_by: String,
    /// Reasons for blocks instead of duels.
    #[serde(default)]
    pub no_duels: Vec<String>,
    /// Version of the lab.
    pub lab_version: String,
    /// The command line.
    pub command: Vec<String>,
    /// Preset, if any.
    pub preset: Option<String>,
    /// Seed of trial order and payloads.
    pub seed: u64,
    /// Environment of the trials, and why it was chosen.
    pub arena: String,
    /// `apart`: one role per core; `shared`: all roles on all cores.
    pub placement: String,
    /// Whether idle CPUs were kept awake.
    #[serde(default)]
    pub awake: bool,
    /// Error level of the verdicts of one metric.
    pub alpha: f64,
    /// Relative difference that counts as no difference.
    pub margin: f64,
    /// Roles of the workload, in its order.
    pub roles: Vec<String>,
    /// Standard partners, by role.
    #[serde(default)]
    pub partners: BTreeMap<String, String>,
    /// Name of the primary metric.
    pub primary: String,
    /// Summary of parameters, conditions and effort in one line.
    pub headline: String,
}

/// One combination of contenders and parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The contender, if it plays all compared roles.
    pub contender: Option<String>,
    /// The contender of each role.
    pub roles: BTreeMap<String, String>,
    /// The roles that a standard partner plays.
    #[serde(default)]
    pub partners: Vec<String>,
    /// Label in the tables.
    pub label: String,
    /// Parameters of the workload.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Whether it is the ceiling, which is never ranked.
    pub ceiling: bool,
    /// Status of the cell.
    pub status: CellStatus,
    /// Reason for failure or skipping; empty otherwise.
    pub reason: String,
    /// stderr of the failed role, at most the first 16 KiB and the last 48 KiB; empty otherwise.
    #[serde(default)]
    pub stderr: String,
    /// Command that makes it run; empty if unknown.
    pub remedy: String,
    /// Successful trials.
    pub trials: u32,
    /// Values by metric.
    pub metrics: BTreeMap<String, MetricValue>,
    /// Offered and achieved load, if a load was offered.
    #[serde(default)]
    pub load: Option<Load>,
    /// Latency curves of the pooled trials, by role and histogram: `ping.latency`.
    #[serde(default)]
    pub curves: BTreeMap<String, Vec<CurvePoint>>,
    /// Turns and the effect of freezing, in duels.
    #[serde(default)]
    pub turns: Option<InTurns>,
    /// The bottleneck, as far as known.
    pub bottleneck: String,
    /// Whether the load generator was the bottleneck. Such a cell is not ranked.
    #[serde(default)]
    pub generator_limited: bool,
    /// Build of each contender.
    pub builds: BTreeMap<String, BuildRecord>,
    /// Expected contents of the roles' inputs, by name.
    pub inputs: BTreeMap<String, Expected>,
    /// Implementation that each role reported.
    pub implementations: BTreeMap<String, Implementation>,
    /// Remarks.
    pub notes: Vec<String>,
}

impl MetricValue {
    /// Minimum and maximum of the samples.
    pub fn range(&self) -> Option<(f64, f64)> {
        let samples = || self.samples.iter().copied();
        samples().reduce(f64::min).zip(samples().reduce(f64::max))
    }

    /// Minimum and maximum of the samples and of `value`, which may be a pooled quantile.
    pub fn range_with(&self, value: f64) -> (f64, f64) {
        self.range().map_or((value, value), |(low, high)| (low.min(value), high.max(value)))
    }
}

impl Cell {
    /// Value of a metric, if it was measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric)?.value
    }

    /// Value of a metric with its unit, or "not measured"; empty if the workload has no such metric.
    pub fn value_text(&self, metric: &str) -> String {
        let text = |m: &MetricValue| super::format::value_or_not(m.value, &m.unit);
        self.metrics.get(metric).map_or(String::new(), text)
    }
}

/// Turns of a cell in its duels, and the effect of freezing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InTurns {
    /// Sessions of all its duels.
    pub sessions: u32,
    /// Turns per session.
    pub turns: u32,
    /// Measured part of a turn, in ns.
    pub turn_ns: u64,
    /// Lead before it, in ns.
    pub lead_ns: u64,
    /// The freezer.
    pub freezer: String,
    /// Rate in turns / undisturbed rate in the same sessions; null: no session had a stretch.
    pub of_undisturbed: Option<f64>,
    /// Lower end of the confidence sequence; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
    /// Sessions with a stretch.
    pub stretches: u32,
    /// Whether freezing changes its rate by more than the margin. It is then compared in long turns.
    pub disturbed: bool,
}

/// A point of a latency curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurvePoint {
    /// Share of the values that do not exceed `value`, from 0 to 1.
    pub quantile: f64,
    /// The value, in the unit of the histogram.
    pub value: u64,
}

/// Value of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricValue {
    /// The value; null: not measured, with the reason in `source`.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// Source of the value, or reason why it was not measured.
    pub source: String,
    /// Parts of the value, by role.
    pub per_role: BTreeMap<String, f64>,
    /// Share of the ceiling in the same run, from 0 to 1; for the primary metric only.
    pub of_ceiling: Option<f64>,
    /// Lower end of its interval, if both were compared with the baseline in duels.
    #[serde(default)]
    pub of_ceiling_low: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub of_ceiling_high: Option<f64>,
    /// One value per successful trial, in order of the blocks.
    pub samples: Vec<f64>,
}
