//! An explanation as data, printed by `explain --format json`.

use serde::{Deserialize, Serialize};

use super::figures::FigureRow;

/// Version of the schema. Fields are added within a version, never changed.
pub const SCHEMA_VERSION: u32 = 1;

/// Explanation of the difference between two cells. All differences are second - first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// Version of this schema.
    pub schema_version: u32,
    /// The run's id.
    pub run: String,
    /// Its workload.
    pub workload: String,
    /// The parameters of both cells.
    pub params: String,
    /// The unit of work: `msg`.
    pub unit: String,
    /// The first contender.
    pub a: String,
    /// The second contender.
    pub b: String,
    /// The primary metric.
    pub primary: Primary,
    /// The time that is broken down, and the reason.
    pub basis: String,
    /// The difference to be explained, in ns per unit; null: not measured.
    pub difference_ns: Option<f64>,
    /// Summary in sentences.
    pub summary: Vec<String>,
    /// Parts of the difference, greatest first; then concurrent differences.
    pub causes: Vec<Cause>,
    /// All values per unit, by role.
    pub rows: Vec<FigureRow>,
    /// The probes with their cost, or the reason for failure.
    pub looks: Vec<Look>,
    /// Effect of equalising one property.
    #[serde(default)]
    pub equalised: Vec<Equalised>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// The primary metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Primary {
    /// Its label.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// Of the first.
    pub a: Option<f64>,
    /// Of the second.
    pub b: Option<f64>,
    /// Second / first; null: never measured together.
    pub ratio: Option<Ratio>,
}

/// A ratio with an anytime-valid interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// Second / first.
    pub value: f64,
    /// The lower end; 0 if unbounded.
    pub low: f64,
    /// The upper end; null: unbounded.
    pub high: Option<f64>,
    /// `12 sessions`, `5 blocks`.
    pub of: String,
}

/// One part of the difference.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// The role; null for time in which no role works.
    pub role: Option<String>,
    /// Name of a system call, `own code`, `interrupts`, `waiting` ...
    pub name: String,
    /// Time of the first side, in ns per unit.
    pub a_ns: f64,
    /// Time of the second side.
    pub b_ns: f64,
    /// Standard error of the difference from sampling, in ns; null: not sampled.
    pub error_ns: Option<f64>,
    /// Share of the difference; null: concurrent.
    pub share: Option<f64>,
    /// Its system calls, greatest difference first.
    pub calls: Vec<CallDifference>,
    /// Its functions, greatest difference first.
    pub functions: Vec<FunctionDifference>,
}

impl Cause {
    /// Second - first, in ns per unit.
    pub fn difference_ns(&self) -> f64 {
        self.b_ns - self.a_ns
    }

    /// Whether the difference exceeds the sampling error.
    pub fn is_sure(&self) -> bool {
        self.difference_ns().abs() > 2.0 * self.error_ns.unwrap_or(0.0)
    }
}

/// A system call on both sides, per unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallDifference {
    /// Its name.
    pub name: String,
    /// Calls of the first side.
    pub a: f64,
    /// Calls of the second side.
    pub b: f64,
    /// Time inside the call, including waiting, in ns, of the first side while it was probed.
    pub a_inside_ns: f64,
    /// The same of the second side.
    pub b_inside_ns: f64,
}

/// Self time of a function on both sides, without callees, per unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionDifference {
    /// Symbol name.
    pub name: String,
    /// First side, in ns.
    pub a_ns: f64,
    /// Second side, in ns.
    pub b_ns: f64,
}

/// One probe of a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Look {
    /// The contender.
    pub contender: String,
    /// The role.
    pub role: String,
    /// `kernel`, `syscalls`, `allocations`, `profile`.
    pub kind: String,
    /// The tool.
    pub source: String,
    /// Rate while probed / undisturbed rate.
    pub speed: Option<f64>,
    /// Reason for failure, or a problem of the result.
    pub problem: Option<String>,
}

/// Effect of equalising one property.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Equalised {
    /// The property.
    pub what: String,
    /// How it was equalised and verified, or why it cannot be.
    pub how: String,
    /// The original ratio.
    pub before: Option<Ratio>,
    /// The ratio with the property equalised.
    pub after: Option<Ratio>,
    /// Share of the gap that closes; null without a gap or measurement.
    pub closes: Option<Closes>,
    /// The runs: original and equalised.
    pub runs: Vec<String>,
}

/// A share of a gap: 1 closes it; a negative share widens it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Closes {
    /// Estimate from the two ratios.
    pub share: f64,
    /// Minimum that both intervals allow.
    pub low: Option<f64>,
    /// Maximum.
    pub high: Option<f64>,
}
