//! How a workload can be measured in turns.

use indexmap::IndexMap;
use serde::Deserialize;

use super::limits::{TOGETHER_MAX, TURN_MS_MAX, TURNS_MAX};
use super::params::{Specs, kind_of, settle_value};
use super::read::Problems;
use super::{ParamKind, ParamValue, Params};

/// How a workload can be measured in turns: one contender runs while the others are frozen. Its clocks continue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnsSpec {
    /// The measured part of a turn, in ms.
    pub turn_ms: u32,
    /// The unmeasured start of a turn, in ms, in which the thawed side resumes its work.
    pub lead_ms: u32,
    /// Most turns of a side in a session; a shorter window has fewer.
    #[serde(default = "turns_max_default")]
    pub turns_max: u32,
    /// Length of a stretch, in ms, whose rate is compared with the rate in turns. Also the length of a turn of
    /// contenders that shorter turns disturb.
    pub stretch_ms: u32,
    /// One session in this many has such a stretch.
    pub stretch_every: u32,
    /// Most contenders of a session, including the baseline. More contenders share the cost of the baseline's setup,
    /// but are frozen for longer.
    pub together: u32,
    /// Parameters whose product is the number of requests that a freeze may interrupt; none: one request per
    /// connection.
    #[serde(default)]
    pub under_way: Vec<String>,
    /// Parameter values that turns require.
    #[serde(default)]
    pub only: IndexMap<String, ParamValue>,
}

impl TurnsSpec {
    /// The reason why these parameters do not permit turns, if so.
    pub fn refuses(&self, params: &Params) -> Option<String> {
        let other = self.only.iter().find(|(name, value)| params.get(name) != Some(value))?;
        Some(format!("the workload allows turns with {}={} only", other.0, other.1))
    }

    /// The number of requests that a freeze may interrupt, if the workload defines it.
    pub fn under_way(&self, params: &Params) -> Option<u64> {
        (!self.under_way.is_empty()).then(|| params.product(&self.under_way))
    }

    pub(super) fn check(&mut self, params: &Specs, problems: &mut Problems) {
        for (field, ms) in
            [("turn_ms", self.turn_ms), ("lead_ms", self.lead_ms), ("stretch_ms", self.stretch_ms)]
        {
            let rule = format!("must be from 1 to {TURN_MS_MAX}");
            problems.require((1..=TURN_MS_MAX).contains(&ms), format!("turns.{field}"), rule);
        }
        let is_longer = self.stretch_ms > self.turn_ms;
        problems.require(is_longer, "turns.stretch_ms", "must be longer than a turn");
        let rule = format!("must be from 2 to {TURNS_MAX}");
        problems.require((2..=TURNS_MAX).contains(&self.turns_max), "turns.turns_max", rule);
        problems.require(self.stretch_every > 0, "turns.stretch_every", "must be at least 1");
        let rule = format!("must be from 2 to {TOGETHER_MAX}");
        problems.require((2..=TOGETHER_MAX).contains(&self.together), "turns.together", rule);
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
