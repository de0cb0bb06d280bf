//! The report as data. Its JSON Schema is printed by `netdyno schema report`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::Load;
use netdyno_lab_manifest::Expected;
use netdyno_lab_protocol::Implementation;
use netdyno_lab_store::Host;
use netdyno_lab_store::{BuildRecord, CellStatus, RunStatus, Verdict};

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
    /// What each end brings, of the primary metric, where every contender of one role worked with every one of another.
    #[serde(default)]
    pub effects: Vec<Effects>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// A matrix of two roles, taken apart: a figure is the mean of all pairs, times what each end brings, times what only the two do together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effects {
    /// The parameters of its cells.
    pub params: BTreeMap<String, serde_json::Value>,
    /// What was compared: `block` or `session`.
    pub unit: String,
    /// How many of them each cell has.
    pub count: u32,
    /// Contenders that lack cells, and have no part in it.
    pub left_out: Vec<String>,
    /// Of each contender of the one role, of each of the other, then of each pair.
    pub effects: Vec<Effect>,
}

/// What one end brings, or what only two do together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// By role: one contender, or the two of a pair.
    pub of: BTreeMap<String, String>,
    /// A factor: 1 does nothing. All effects of a role have the product 1.
    pub ratio: f64,
    /// Lower end of the confidence sequence, which holds for all effects of the run together; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
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
    /// Complete blocks; where contenders are compared by duels, the fewest sessions of one that still ran.
    pub blocks: u32,
    /// How contenders are compared: `duels`, `blocks`, or both.
    #[serde(default)]
    pub compared_by: String,
    /// Why not by duels, where they are not; by the parameters that it is so for, if not for all.
    #[serde(default)]
    pub no_duels: Vec<String>,
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
    /// Who plays a role for all, of those that are not compared.
    #[serde(default)]
    pub partners: BTreeMap<String, String>,
    /// Name of the primary metric.
    pub primary: String,
    /// What was run, in one line.
    pub headline: String,
}

/// One thing measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The contender, if one plays all the roles that are compared.
    pub contender: Option<String>,
    /// The contender of each role.
    pub roles: BTreeMap<String, String>,
    /// The roles that their standard partner plays.
    #[serde(default)]
    pub partners: Vec<String>,
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
    /// What the role that failed printed on stderr: all of it, or the first 16 and the last 48 KiB; empty otherwise.
    #[serde(default)]
    pub stderr: String,
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
    /// What turns did to it, where it took any.
    #[serde(default)]
    pub turns: Option<InTurns>,
    /// What held it back, as far as it shows.
    pub bottleneck: String,
    /// The generator that works all was the limit: the figures are its own, and are not ranked.
    #[serde(default)]
    pub generator_limited: bool,
    /// How each contender was built.
    pub builds: BTreeMap<String, BuildRecord>,
    /// What the makers of the roles' inputs told of them, by name.
    pub inputs: BTreeMap<String, Expected>,
    /// What each role said it is.
    pub implementations: BTreeMap<String, Implementation>,
    /// What was seen beside the figures.
    pub notes: Vec<String>,
}

/// A cell in the sessions of its duels: how it was frozen, and whether that disturbed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InTurns {
    /// Sessions, of all its duels.
    pub sessions: u32,
    /// Turns of a session.
    pub turns: u32,
    /// What counts of a turn, in ns.
    pub turn_ns: u64,
    /// What goes before, in ns.
    pub lead_ns: u64,
    /// How it was frozen.
    pub freezer: String,
    /// Its rate in turns by its rate undisturbed, in the same sessions; null: no session had an undisturbed stretch.
    pub of_undisturbed: Option<f64>,
    /// Lower end of the confidence sequence; null: unbounded.
    pub low: Option<f64>,
    /// Upper end; null: unbounded.
    pub high: Option<f64>,
    /// Sessions with an undisturbed stretch.
    pub stretches: u32,
    /// Turns disturb it by more than the margin: it is compared in long ones.
    pub disturbed: bool,
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
    /// Lower end of that share, where both were compared with the baseline by duels.
    #[serde(default)]
    pub of_ceiling_low: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub of_ceiling_high: Option<f64>,
    /// One value a good trial, in order of the blocks.
    pub samples: Vec<f64>,
}
