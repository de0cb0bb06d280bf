//! The records of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Side, StoreError};
use crate::Host;
use crate::code_lines::CodeLines;
use crate::samples::Sample;
use crate::status::{RunStatus, StopReason};
use netdyno_lab_manifest::{Expected, Params, Workload};
use netdyno_lab_protocol::Implementation;
use netdyno_stats::Encoded;

/// The configuration and environment of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunHeader {
    /// Sorts by time: `20260131-120000-ab12`.
    pub id: String,
    /// The name of the workload.
    pub workload: String,
    /// The workload's complete manifest: stored runs are judged by the rules they were run under.
    pub manifest: String,
    /// When it started.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// Version of the lab.
    pub lab_version: String,
    /// The command line that started it.
    pub command: Vec<String>,
    /// Its settings.
    pub settings: Settings,
    /// Its machine.
    pub host: Host,
    /// Description of the arena.
    pub arena: String,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

impl RunHeader {
    /// The workload at the time of the run.
    pub fn parsed_workload(&self) -> Result<Workload, StoreError> {
        let file = format!("{}.toml", self.workload);
        let parsed = Workload::parse(Path::new(&file), &self.manifest).map_err(|errors| {
            let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
            StoreError::Damaged(all.join("; "))
        })?;
        match &self.settings.role {
            Some(role) => parsed.of_role(role).map_err(|e| StoreError::Damaged(e.to_string())),
            None => Ok(parsed),
        }
    }
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Preset, if any.
    pub preset: Option<String>,
    /// The placement.
    pub placement: netdyno_lab_manifest::Placement,
    /// The network.
    pub net: netdyno_lab_manifest::Net,
    /// The contender that ratios are relative to.
    pub baseline: Option<String>,
    /// The only compared role, if requested.
    #[serde(default)]
    pub role: Option<String>,
    /// Seed of the order and the payloads; below 2^53.
    pub seed: u64,
    /// Least number of blocks before a decision may end the run.
    pub min_blocks: u32,
    /// Greatest number of blocks.
    pub max_blocks: u32,
    /// Budget of measuring time, in seconds.
    pub budget_seconds: f64,
    /// Error level of the verdicts on one metric, over all contenders.
    pub alpha: f64,
    /// Relative difference that counts as no difference.
    pub margin: f64,
    /// Wanted relative half-width of every interval.
    pub precision: Option<f64>,
    /// Factor for the time limits of the protocol.
    pub time_limits: f64,
    /// Marks per second while measuring.
    pub marks_hz: u32,
    /// Memory limit of each role, in bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Idle CPUs are kept awake.
    #[serde(default)]
    pub awake: bool,
    /// Compare in blocks even if duels are possible.
    #[serde(default)]
    pub blocks: bool,
    /// The tolerated regression, relative, if requested: the run measures until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression: Option<f64>,
    /// An undecided regression counts as one, so that a resumed run keeps its exit code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_on_undecided: bool,
    /// Tolerated losses in named metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerances: Vec<crate::Tolerance>,
    /// The equalised property, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal: Option<crate::Equal>,
    /// The questions of a run that does not need a verdict on every contender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<crate::Question>,
}

/// A combination of contenders and parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellRecord {
    /// Contender of each role.
    pub contenders: BTreeMap<String, String>,
    /// The roles played by a partner.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub partners: BTreeSet<String>,
    /// All parameters of the workload.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, serde_json::Value>"))]
    pub params: Params,
    /// Whether it is the ceiling.
    pub ceiling: bool,
    /// Whether it is a second copy of a contender, for a comparison with itself.
    #[serde(default)]
    pub again: bool,
    /// Thousandths of each turn in which it is frozen: an injected slowdown of known size.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalled: u32,
    /// Its status.
    pub status: CellStatus,
    /// Why it failed or was skipped, or empty.
    pub reason: String,
    /// A command that would make it run, if any.
    pub remedy: String,
    /// The build of each contender.
    pub builds: BTreeMap<String, BuildRecord>,
    /// Expected results of the roles' inputs, by name.
    #[serde(default)]
    pub inputs: BTreeMap<String, Expected>,
    /// The implementation reported by each role.
    pub implementations: BTreeMap<String, Implementation>,
}

impl CellRecord {
    /// The contenders of the compared roles, by role.
    pub fn compared(&self) -> impl Iterator<Item = (&String, &String)> {
        self.contenders.iter().filter(|(role, _)| !self.partners.contains(*role))
    }

    /// The contender, if the same one plays all compared roles.
    pub fn contender(&self) -> Option<&str> {
        let mut names = self.compared().map(|(_, name)| name);
        let first = names.next()?;
        names.all(|n| n == first).then_some(first)
    }

    /// The cell as it was planned, without results.
    pub fn planned(&self) -> CellRecord {
        CellRecord {
            contenders: self.contenders.clone(),
            partners: self.partners.clone(),
            params: self.params.clone(),
            ceiling: self.ceiling,
            again: self.again,
            stalled: self.stalled,
            ..CellRecord::default()
        }
    }

    /// `pion`, `pion (again)`, `pion (2 % stalled)`, or `pion > aiortc` in the order of the workload's roles.
    /// Partners are omitted.
    pub fn label(&self, roles: &[String]) -> String {
        if let Some(one) = self.contender() {
            return match (self.again, self.stalled) {
                (false, _) => one.to_owned(),
                (true, 0) => format!("{one} (again)"),
                (true, loss) => format!("{one} ({} % stalled)", f64::from(loss) / 10.0),
            };
        }
        let names: Vec<&str> =
            roles.iter().filter_map(|r| self.contenders.get(r)).map(String::as_str).collect();
        names.join(" > ")
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The status of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CellStatus {
    /// Not measured yet.
    #[default]
    Planned,
    /// Every trial so far succeeded.
    Ok,
    /// A trial failed: the cell is not ranked.
    Failed,
    /// It cannot run here or with these parameters.
    Skipped,
}

/// The build of a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuildRecord {
    /// Hash of all inputs.
    pub key: String,
    /// Toolchain and version.
    pub toolchain: String,
    /// Flags, and the environment variables that affect the build.
    pub flags: Vec<String>,
    /// Hash of the lock file.
    pub lock_hash: String,
    /// Version of the library in its manifest.
    pub version: String,
    /// Documented defaults, or the changes.
    pub tuning: String,
    /// Sources that are not a release of that version, if any: folders with their git revisions, archives, commits.
    #[serde(default)]
    pub local: Option<String>,
    /// The caveat of its manifest.
    #[serde(default)]
    pub caveat: Option<String>,
    /// Lines of code of its sources.
    #[serde(default = "not_counted")]
    pub lines: CodeLines,
}

/// The value for runs of older versions.
fn not_counted() -> CodeLines {
    CodeLines::not_measured("the run predates the counting of lines")
}

/// The result of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// The gate passed and every role ended correctly.
    Ok,
    /// A role does not support these parameters.
    Skipped {
        /// The role.
        role: String,
        /// The reason.
        reason: String,
    },
    /// The trial failed.
    Failed {
        /// The role, or empty if no single role is at fault.
        role: String,
        /// The reason.
        reason: String,
        /// The role's stderr, possibly without its middle part.
        stderr: String,
    },
    /// The user stopped it.
    Interrupted,
}

/// Turns of a trial in a session of duels. All trials of a session have the same block and position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turns {
    /// The freezer.
    pub freezer: String,
    /// Length of a turn between its two marks, in ns.
    pub turn_ns: u64,
    /// Time from the thaw to the first mark, in ns.
    pub lead_ns: u64,
    /// Number of turns. Turn i has the marks 2 i and 2 i + 1.
    pub count: u32,
    /// Whether there is a stretch, with the two marks after those of the turns.
    pub stretch: bool,
    /// Requests that a freeze may have interrupted; none: one per connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<u64>,
}

impl Turns {
    /// The pairs of marks of the turns.
    pub fn marks(&self) -> Vec<(u64, u64)> {
        (0..self.count).map(Self::marks_of).collect()
    }

    /// The marks of the stretch.
    pub fn stretch_marks(&self) -> Option<(u64, u64)> {
        self.stretch.then(|| Self::marks_of(self.count))
    }

    /// The marks at the ends of a turn.
    pub fn marks_of(turn: u32) -> (u64, u64) {
        (2 * u64::from(turn), 2 * u64::from(turn) + 1)
    }
}

/// A trial with all samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialRecord {
    /// Index of the cell within the run.
    pub cell: usize,
    /// Block or round, from 0.
    pub block: u32,
    /// Position within the block, from 0; equal for all trials of a session.
    pub position: u32,
    /// Its turns, if it was part of a session.
    pub turns: Option<Turns>,
    /// When it started.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// Duration from launch to the last exit, in s.
    pub seconds: f64,
    /// Seed of its payload.
    pub seed: u64,
    /// Its result.
    pub outcome: Outcome,
    /// Additional observations.
    pub notes: Vec<String>,
    /// All samples.
    pub samples: Vec<Sample>,
    /// Role, name, HDR V2 in base64.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(String, String, String)>"))]
    pub histograms: Vec<(String, String, Encoded)>,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Configuration and environment.
    pub header: RunHeader,
    /// Its status.
    pub status: RunStatus,
    /// Why it stopped.
    pub stopped_because: StopReason,
    /// Its cells.
    pub cells: Vec<CellRecord>,
    /// Its trials.
    pub trials: Vec<TrialRecord>,
}

impl CellRecord {
    /// Whether this cell is the given side. Ceilings and second copies are never sides.
    pub fn is_side(&self, side: &Side) -> bool {
        let who = match &side.contender {
            Some(name) => self.contenders.iter().all(|(role, n)| n == name || self.partners.contains(role)),
            None => side.roles.iter().all(|(role, name)| self.contenders.get(role) == Some(name)),
        };
        let at = side.at.iter().all(|(name, value)| match (self.params.get(name), value.number()) {
            (Some(given), Some(number)) => given.number() == Some(number),
            (given, _) => given == Some(value),
        });
        who && at && !self.ceiling && !self.again
    }
}

impl Run {
    /// The first cell of this side.
    pub fn cell_of(&self, side: &Side) -> Option<usize> {
        self.cells.iter().position(|cell| cell.is_side(side))
    }

    /// Seconds of measuring so far. Failed trials do not count, because their contender never runs again.
    pub fn elapsed_s(&self) -> f64 {
        // Each side of a session lasts as long as the session.
        let good = self.trials.iter().filter(|t| t.outcome == Outcome::Ok);
        let steps: BTreeMap<(u32, u32), f64> = good.map(|t| ((t.block, t.position), t.seconds)).collect();
        steps.values().sum()
    }
}
