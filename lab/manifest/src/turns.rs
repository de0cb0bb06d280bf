//! How the work of a workload can be cut into turns.

use indexmap::IndexMap;
use serde::Deserialize;

use super::limits::{TOGETHER_MAX, TURN_MS_MAX, TURNS_MAX};
use super::params::{kind_of, settle_value};
use super::read::Problems;
use super::{ParamKind, ParamSpec, ParamValue, Params};

/// How the work can be cut into turns: a contender is frozen while another one runs, and its clocks go on meanwhile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnsSpec {
    /// What counts of a turn, in ms.
    pub turn_ms: u32,
    /// What goes before it, from the thaw on, in ms: what had stood still gets going again.
    pub lead_ms: u32,
    /// How many turns each has in a session, at the most; a shorter window holds fewer.
    #[serde(default = "turns_max_default")]
    pub turns_max: u32,
    /// A stretch in which a contender is left alone, in ms: its rate there is what its rate in turns is held against; also the length
    /// of a turn of those whom shorter ones disturb.
    pub stretch_ms: u32,
    /// One session in so many has such a stretch.
    pub stretch_every: u32,
    /// How many take turns in a session, the baseline among them, at the most. More share the cost of the baseline's set-up, and stand
    /// still for longer in between.
    pub together: u32,
    /// Parameters whose product is what a freeze may meet under way; none: a request a connection.
    #[serde(default)]
    pub under_way: Vec<String>,
    /// Values of parameters without which there can be no turns.
    #[serde(default)]
    pub only: IndexMap<String, ParamValue>,
}

impl TurnsSpec {
    /// Why there can be no turns with these parameters, if so.
    #[must_use]
    pub fn refuses(&self, params: &Params) -> Option<String> {
        let other = self.only.iter().find(|(name, value)| params.get(name) != Some(value))?;
        Some(format!("the workload allows turns with {}={} only", other.0, other.1))
    }

    /// The requests that a freeze may meet under way with these parameters, where the workload says it.
    #[must_use]
    pub fn under_way(&self, params: &Params) -> Option<u64> {
        (!self.under_way.is_empty()).then(|| params.product(&self.under_way))
    }

    pub(super) fn check(&mut self, params: &IndexMap<String, ParamSpec>, problems: &mut Problems) {
        for (field, ms) in
            [("turn_ms", self.turn_ms), ("lead_ms", self.lead_ms), ("stretch_ms", self.stretch_ms)]
        {
            if !(1..=TURN_MS_MAX).contains(&ms) {
                problems.push(format!("turns.{field}"), format!("must be from 1 to {TURN_MS_MAX}"));
            }
        }
        if self.stretch_ms <= self.turn_ms {
            problems.push("turns.stretch_ms", "must be longer than a turn");
        }
        if !(2..=TURNS_MAX).contains(&self.turns_max) {
            problems.push("turns.turns_max", format!("must be from 2 to {TURNS_MAX}"));
        }
        if self.stretch_every == 0 {
            problems.push("turns.stretch_every", "must be at least 1");
        }
        if !(2..=TOGETHER_MAX).contains(&self.together) {
            problems.push("turns.together", format!("must be from 2 to {TOGETHER_MAX}"));
        }
        for name in &self.under_way {
            kind_of("turns.under_way", name, ParamKind::Integer, params, problems);
        }
        for (param, value) in &mut self.only {
            settle_value(&format!("turns.only.{param}"), param, value, params, problems);
        }
    }
}

fn turns_max_default() -> u32 {
    TURNS_MAX
}
