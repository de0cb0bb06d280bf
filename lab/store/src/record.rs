//! What the store keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Side, StoreError};
use crate::Host;
use crate::PlannedCell;
use crate::code_lines::CodeLines;
use crate::samples::Sample;
use netdyno_lab_manifest::{Expected, Params, Workload};
use netdyno_lab_protocol::Implementation;
use netdyno_stats::Encoded;

/// A run as it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunHeader {
    /// Sorts by time: `20260131-120000-ab12`.
    pub id: String,
    /// Name of the workload.
    pub workload: String,
    /// The workload's manifest, whole: a stored run is judged by the rules it was run under.
    pub manifest: String,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// Version of the lab.
    pub lab_version: String,
    /// The command line, to run it again.
    pub command: Vec<String>,
    /// What was asked.
    pub settings: Settings,
    /// Where it ran.
    pub host: Host,
    /// Where trials ran, and why there: the arena in words.
    pub arena: String,
    /// What the reader should know: typed warnings in words.
    pub warnings: Vec<String>,
}

impl RunHeader {
    /// The workload as it was when the run began.
    ///
    /// # Errors
    /// When the stored manifest cannot be read: the store is damaged, or of a later netdyno.
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

/// What was asked of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Settings {
    /// Preset, if one was named.
    pub preset: Option<String>,
    /// One role a core, or all roles on all cores.
    pub placement: netdyno_lab_manifest::Placement,
    /// The network asked for.
    pub net: netdyno_lab_manifest::Net,
    /// The contender that ratios are to.
    pub baseline: Option<String>,
    /// The only role that is compared, where one was asked for.
    #[serde(default)]
    pub role: Option<String>,
    /// Seed of the order and of the payloads; below 2^53.
    pub seed: u64,
    /// Blocks before a decision may end the run.
    pub min_blocks: u32,
    /// Blocks at the most.
    pub max_blocks: u32,
    /// Seconds of measuring at the most.
    pub budget_seconds: f64,
    /// Error level of the verdicts of one metric, all contenders together.
    pub alpha: f64,
    /// Relative difference below which two are called equal.
    pub margin: f64,
    /// Relative half-width that is wanted of every interval before stopping.
    pub precision: Option<f64>,
    /// Factor on the time limits of the protocol.
    pub time_limits: f64,
    /// Marks a second while measuring.
    pub marks_hz: u32,
    /// Memory a role may take, in bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Idle CPUs are kept from sleeping.
    #[serde(default)]
    pub awake: bool,
    /// Compare by blocks, even where duels can be held.
    #[serde(default)]
    pub blocks: bool,
    /// The regression that is put up with, relative, where one was named: measured until there is a claim of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression: Option<f64>,
    /// What was made equal for all, to see what it is worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal: Option<crate::Equal>,
    /// What the run is to find out, where that is less than a verdict on everybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<crate::Question>,
}

/// One thing to measure: who plays which role, with which parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CellRecord {
    /// Contender of each role.
    pub contenders: BTreeMap<String, String>,
    /// The roles that their standard partner plays.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub partners: BTreeSet<String>,
    /// The workload's parameters, all of them.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: Params,
    /// This is the bound, not a contender.
    pub ceiling: bool,
    /// This is a contender a second time, to be compared with itself.
    #[serde(default)]
    pub again: bool,
    /// Thousandths of each turn in which it is made to stand still: a loss of known size, which has to be found again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalled: u32,
    /// How it stands.
    pub status: CellStatus,
    /// Why it failed or was skipped, or nothing.
    pub reason: String,
    /// The command that would make it run, where there is one.
    pub remedy: String,
    /// How each contender was built.
    pub builds: BTreeMap<String, BuildRecord>,
    /// What the makers of the roles' inputs told of them, by name.
    #[serde(default)]
    pub inputs: BTreeMap<String, Expected>,
    /// What each role said it is.
    pub implementations: BTreeMap<String, Implementation>,
}

impl CellRecord {
    /// Who plays the roles that are compared, by role: all but those of standard partners.
    pub fn compared(&self) -> impl Iterator<Item = (&String, &String)> {
        self.contenders.iter().filter(|(role, _)| !self.partners.contains(*role))
    }

    /// The contender, if one plays all the roles that are compared.
    #[must_use]
    pub fn contender(&self) -> Option<&str> {
        let mut names = self.compared().map(|(_, name)| name);
        let first = names.next()?;
        names.all(|n| n == first).then_some(first)
    }

    /// As it was planned.
    #[must_use]
    pub fn planned(&self) -> PlannedCell {
        PlannedCell {
            contenders: self.contenders.clone(),
            partners: self.partners.clone(),
            params: self.params.clone(),
            ceiling: self.ceiling,
            again: self.again,
            stalled: self.stalled,
        }
    }

    /// `pion`, `pion (again)`, `pion (2 % stalled)`, or `pion > aiortc` in the order of the workload's roles. Standard partners are not
    /// named.
    #[must_use]
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

/// How a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellStatus {
    /// Nothing measured yet.
    Planned,
    /// Every trial so far was good.
    Ok,
    /// A trial failed: its figures are not ranked.
    Failed,
    /// It cannot run here, or not with these parameters.
    Skipped,
}

/// How a contender was built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BuildRecord {
    /// Hash of all that went in.
    pub key: String,
    /// Toolchain and version.
    pub toolchain: String,
    /// Flags, then the variables that count and were set.
    pub flags: Vec<String>,
    /// Hash of the lock file.
    pub lock_hash: String,
    /// Version of the library as its manifest says.
    pub version: String,
    /// Built by the defaults of its documentation, or tuned.
    pub tuning: String,
    /// Which of its sources are no release of that version, if any: folders with their git revisions, archives, commits.
    #[serde(default)]
    pub local: Option<String>,
    /// What its figures do not say, as its manifest tells.
    #[serde(default)]
    pub caveat: Option<String>,
    /// Lines of code that it was built from.
    #[serde(default = "not_counted")]
    pub lines: CodeLines,
}

/// Of a run that an older netdyno stored.
fn not_counted() -> CodeLines {
    CodeLines::not_measured("the run is older than the count of lines")
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Under way, or killed.
    Running,
    /// Ended by its own rules.
    Finished,
    /// Ended by the user.
    Interrupted,
}

impl RunStatus {
    /// As it stands in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Finished => "finished",
            RunStatus::Interrupted => "interrupted",
        }
    }

    pub(super) fn parse(text: &str) -> Option<RunStatus> {
        [RunStatus::Running, RunStatus::Finished, RunStatus::Interrupted]
            .into_iter()
            .find(|s| s.as_str() == text)
    }
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// The gate passed and every role ended well.
    Ok,
    /// A role does not support this.
    Skipped {
        /// Which role.
        role: String,
        /// Why.
        reason: String,
    },
    /// It failed.
    Failed {
        /// Which role, or nothing when it is the pair.
        role: String,
        /// What went wrong.
        reason: String,
        /// That role's stderr: all of it, or its first and its last part.
        stderr: String,
    },
    /// The user stopped it.
    Interrupted,
}

/// How a trial took turns with others, in a session of duels: frozen while another one runs. Those of one session have the same
/// block and position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Turns {
    /// How it was frozen.
    pub freezer: String,
    /// Length of a turn, in ns: what counts of it, between its two marks.
    pub turn_ns: u64,
    /// What goes before, from the thaw to the first mark, in ns.
    pub lead_ns: u64,
    /// How many turns it had. Turn i has the marks 2 i and 2 i + 1.
    pub count: u32,
    /// Whether it was also left alone for a while, between the two marks after those of the turns.
    pub stretch: bool,
    /// Requests that a freeze may have met under way; none: one a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<u64>,
}

impl Turns {
    /// The pairs of marks of the turns.
    #[must_use]
    pub fn marks(&self) -> Vec<(u64, u64)> {
        (0..self.count).map(Self::marks_of).collect()
    }

    /// The marks of the undisturbed stretch.
    #[must_use]
    pub fn stretch_marks(&self) -> Option<(u64, u64)> {
        self.stretch.then(|| Self::marks_of(self.count))
    }

    /// The marks at the begin and the end of a turn.
    #[must_use]
    pub fn marks_of(turn: u32) -> (u64, u64) {
        (2 * u64::from(turn), 2 * u64::from(turn) + 1)
    }
}

/// One trial with all that was sampled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialRecord {
    /// Index of the cell within the run.
    pub cell: usize,
    /// Block, from 0; of a duel: its round.
    pub block: u32,
    /// Place within the block, from 0; of all trials of a session the same.
    pub position: u32,
    /// Its turns, if it was in a session of duels.
    pub turns: Option<Turns>,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// How long it took, from launch to the last exit, in s.
    pub seconds: f64,
    /// Seed of its payload.
    pub seed: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What was seen beside the figures.
    pub notes: Vec<String>,
    /// Every sample.
    pub samples: Vec<Sample>,
    /// Role, name, HDR V2 in base64.
    #[schemars(with = "Vec<(String, String, String)>")]
    pub histograms: Vec<(String, String, Encoded)>,
}

/// A run as the store has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// As it was asked for.
    pub header: RunHeader,
    /// How it stands.
    pub status: RunStatus,
    /// Why it stopped.
    pub stopped_because: String,
    /// What it measures.
    pub cells: Vec<CellRecord>,
    /// What was measured.
    pub trials: Vec<TrialRecord>,
}

impl Run {
    /// The first cell that this side names.
    #[must_use]
    pub fn cell_of(&self, side: &Side) -> Option<usize> {
        self.cells.iter().position(|cell| side.is(&cell.planned()))
    }

    /// Seconds of measuring so far. Failed trials do not count: their contender never runs again.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        // Each side of a session has its whole length.
        let good = self.trials.iter().filter(|t| t.outcome == Outcome::Ok);
        let steps: BTreeMap<(u32, u32), f64> = good.map(|t| ((t.block, t.position), t.seconds)).collect();
        steps.values().sum()
    }
}
