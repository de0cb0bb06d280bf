//! The report as data. Its JSON Schema is printed by `netdyno schema report`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::load::Load;
use crate::protocol::Implementation;
use crate::store::{BuildRecord, CellStatus, RunStatus};

/// Version of the report's schema. Fields are added within a version, never changed.
pub const SCHEMA_VERSION: u32 = 1;

/// All that is known of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Version of this schema.
    pub schema_version: u32,
    /// The run.
    pub run: RunInfo,
    /// The machine.
    pub host: Host,
    /// What was measured, failed and skipped cells included.
    pub cells: Vec<Cell>,
    /// What can be claimed of each contender against the baseline.
    pub verdicts: Vec<Verdict>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// The run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// Workload.
    pub workload: String,
    /// Workload in words.
    pub title: String,
    /// RFC 3339.
    pub started_at: String,
    /// How it stands.
    pub status: RunStatus,
    /// Why it stopped.
    pub stopped_because: String,
    /// Complete blocks.
    pub blocks: u32,
    /// Version of the lab.
    pub lab_version: String,
    /// The command line.
    pub command: Vec<String>,
    /// Preset, if one was named.
    pub preset: Option<String>,
    /// Seed of order and payload.
    pub seed: u64,
    /// Where trials ran, and why there.
    pub arena: String,
    /// `apart`: a role a core; `shared`: all roles on all cores.
    pub placement: String,
    /// Idle CPUs were kept from sleeping.
    #[serde(default)]
    pub awake: bool,
    /// Error level of the verdicts of one metric.
    pub alpha: f64,
    /// Relative difference below which two are called equal.
    pub margin: f64,
    /// The workload's roles, in its order.
    pub roles: Vec<String>,
    /// Name of the primary metric.
    pub primary: String,
    /// What was run, in one line.
    pub headline: String,
}

/// One thing measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The contender, if one plays all roles.
    pub contender: Option<String>,
    /// The contender of each role.
    pub roles: BTreeMap<String, String>,
    /// How it is called in the tables.
    pub label: String,
    /// The workload's parameters.
    pub params: BTreeMap<String, serde_json::Value>,
    /// The bound: never ranked.
    pub ceiling: bool,
    /// How it stands.
    pub status: CellStatus,
    /// Why it failed or was skipped; empty otherwise.
    pub reason: String,
    /// The command that would make it run; empty where there is none.
    pub remedy: String,
    /// Good trials.
    pub trials: u32,
    /// Figures by metric.
    pub metrics: BTreeMap<String, MetricValue>,
    /// The load that was asked for, where one was, and what was done of it.
    #[serde(default)]
    pub load: Option<Load>,
    /// Latency curves of the pooled trials, by role and histogram: `ping.latency`.
    #[serde(default)]
    pub curves: BTreeMap<String, Vec<CurvePoint>>,
    /// What held it back, as far as it shows.
    pub bottleneck: String,
    /// How each contender was built.
    pub builds: BTreeMap<String, BuildRecord>,
    /// What each role said it is.
    pub implementations: BTreeMap<String, Implementation>,
    /// What was seen beside the figures.
    pub notes: Vec<String>,
}

/// A point of a latency curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Share of the values that are not above `value`, from 0 to 1.
    pub quantile: f64,
    /// The value, in the histogram's unit.
    pub value: u64,
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricValue {
    /// The value; null: not measured, `source` says why.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// Who says so.
    pub source: String,
    /// The roles' parts, where the figure has any.
    pub per_role: BTreeMap<String, f64>,
    /// Share of the ceiling in the same run, from 0 to 1; of the primary metric only.
    pub of_ceiling: Option<f64>,
    /// One value a good trial, in order of the blocks.
    pub samples: Vec<f64>,
}

/// What can be claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Of which metric.
    pub metric: String,
    /// Label of the contender.
    pub contender: String,
    /// Label of the baseline.
    pub baseline: String,
    /// Index of the contender's cell.
    pub cell: usize,
    /// Geometric mean of the blocks' ratios; null without a common block.
    pub ratio: Option<f64>,
    /// Lower end of the confidence sequence; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
    /// Blocks compared.
    pub blocks: u32,
    /// p-value after Holm.
    pub p_adjusted: f64,
    /// The claim.
    pub verdict: VerdictKind,
    /// Of an undecided one: about how many more blocks it needs; null where that cannot be said.
    pub needs_blocks: Option<u32>,
}

/// The claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// No difference beyond the margin.
    NoDifference,
    /// Neither yet.
    Undecided,
}
