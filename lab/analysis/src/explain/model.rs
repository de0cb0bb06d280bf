//! An explanation as data: what `explain --format json` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::Row;

/// Version of the form. Fields are added within a version, never changed.
pub const SCHEMA_VERSION: u32 = 1;

/// Where the difference between two cells comes from. All differences are the second's less the first's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Version of this form.
    pub schema_version: u32,
    /// The run's id.
    pub run: String,
    /// Its workload.
    pub workload: String,
    /// The parameters of both cells, in words.
    pub params: String,
    /// The unit of work that figures are by: `msg`.
    pub unit: String,
    /// The first.
    pub a: String,
    /// The second.
    pub b: String,
    /// What the run is about.
    pub primary: Primary,
    /// Whose time is broken down, and why so.
    pub basis: String,
    /// What there is to be explained, in ns a unit; none where it was not measured.
    pub difference_ns: Option<f64>,
    /// In a few sentences.
    pub summary: Vec<String>,
    /// What the difference consists of, the greatest part first; then what is beside it.
    pub causes: Vec<Cause>,
    /// All figures by the unit, role by role.
    pub rows: Vec<Row>,
    /// What was looked at, by whom, and what that cost; or why not.
    pub looks: Vec<Look>,
    /// What making one thing equal changes.
    #[serde(default)]
    pub equalised: Vec<Equalised>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// The metric that verdicts are of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Primary {
    /// In words.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// Of the first.
    pub a: Option<f64>,
    /// Of the second.
    pub b: Option<f64>,
    /// Second by first; none where they were never measured together.
    pub ratio: Option<Ratio>,
}

/// A ratio with an interval that holds at whatever moment the run stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Second by first.
    pub value: f64,
    /// The lower end; 0 if unbounded.
    pub low: f64,
    /// The upper end; none if unbounded.
    pub high: Option<f64>,
    /// `12 sessions`, `5 blocks`.
    pub of: String,
}

/// One part of the difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Whose; of nobody where time passes while no role works.
    pub role: Option<String>,
    /// A system call's name, `own code`, `interrupts`, `waiting` ...
    pub name: String,
    /// Time of the first in it, in ns a unit.
    pub a_ns: f64,
    /// Of the second.
    pub b_ns: f64,
    /// Standard error of the difference from sampling, in ns; none where nothing was sampled.
    pub error_ns: Option<f64>,
    /// Share of the difference that is explained; none for what is beside it.
    pub share: Option<f64>,
    /// System calls that belong to it, those that differ most first.
    pub calls: Vec<CallDifference>,
    /// Functions that belong to it, those that differ most first.
    pub functions: Vec<FunctionDifference>,
}

impl Cause {
    /// Second less first, in ns a unit.
    #[must_use]
    pub fn difference_ns(&self) -> f64 {
        self.b_ns - self.a_ns
    }

    /// Whether it is more than what sampling by chance may show.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.difference_ns().abs() > 2.0 * self.error_ns.unwrap_or(0.0)
    }
}

/// A system call on both sides, by the unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallDifference {
    /// Its name.
    pub name: String,
    /// Calls of the first.
    pub a: f64,
    /// Calls of the second.
    pub b: f64,
    /// Time inside the call, waiting included, in ns, of the first while it was looked at.
    pub a_inside_ns: f64,
    /// Of the second.
    pub b_inside_ns: f64,
}

/// A function on both sides: its own time, without what it calls, by the unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionDifference {
    /// Its name, as symbols tell.
    pub name: String,
    /// Of the first, in ns.
    pub a_ns: f64,
    /// Of the second, in ns.
    pub b_ns: f64,
}

/// One look at a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// The side: the contender's name.
    pub contender: String,
    /// The role.
    pub role: String,
    /// `kernel`, `syscalls`, `allocations`, `profile`.
    pub kind: String,
    /// Who says so.
    pub source: String,
    /// The rate meanwhile by the undisturbed rate.
    pub speed: Option<f64>,
    /// Why there is nothing, or what is wrong with it.
    pub problem: Option<String>,
}

/// What making one thing equal for both changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Equalised {
    /// What was made equal.
    pub what: String,
    /// How, and how that it acted was seen; or why it cannot be.
    pub how: String,
    /// The ratio as it is.
    pub before: Option<Ratio>,
    /// The ratio with it equal.
    pub after: Option<Ratio>,
    /// Share of the gap that closes; none where there is no gap, or nothing was measured.
    pub closes: Option<Closes>,
    /// The runs that were measured: as it is, and equal.
    pub runs: Vec<String>,
}

/// A share of a gap: 1 is all of it; below 0 it opens further.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Closes {
    /// By the two ratios.
    pub share: f64,
    /// The least that both intervals allow.
    pub low: Option<f64>,
    /// The most.
    pub high: Option<f64>,
}
