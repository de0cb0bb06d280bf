//! A workload: its roles, parameters, gate, metrics and presets.

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::limits::{BLOCKS_MAX, BUDGET_SECONDS_MAX, MARKS_HZ_DEFAULT, MARKS_HZ_MAX};
use super::params::{kind_of, settle_value};
use super::read::{Problems, decode};
use super::{
    Checked, Gate, InputSpec, ManifestError, Metric, ParamKind, ParamSpec, ParamValue, Params, TurnsSpec,
};

/// Parameters that the lab uses itself: lengths of the measured window and of the warm-up, in s.
const WINDOWS: [&str; 2] = ["seconds", "warmup_seconds"];

/// A workload, valid by construction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its name; equal to its file's.
    pub name: String,
    /// Its name in a headline.
    pub title: String,
    /// One-line description.
    pub about: String,
    /// The roles, in the order in which they are stopped.
    pub roles: Vec<String>,
    /// The contender that is the upper bound, if any.
    pub ceiling: Option<String>,
    /// The default baseline.
    pub baseline: Option<String>,
    /// Contenders that the first look of a run should include; they are built first.
    #[serde(default)]
    pub first_look: Vec<String>,
    /// Contenders that play a role for all others, such as a load generator. Only the other roles are compared,
    /// except in a matrix.
    #[serde(default)]
    pub partners: IndexMap<String, String>,
    /// Contenders that play a role of contenders that lack it. A contender that plays all roles plays with itself.
    #[serde(default)]
    pub stand_ins: IndexMap<String, String>,
    /// Why each role needs its own network, if so. The default network is then a link, and a shared network is
    /// rejected.
    pub networks_apart: Option<String>,
    /// What each role must do, for authors of contenders.
    pub contract: String,
    /// The parameters, in the order of the file.
    #[serde(default)]
    pub params: IndexMap<String, ParamSpec>,
    /// The generated files that the roles receive, by name.
    #[serde(default)]
    pub inputs: IndexMap<String, InputSpec>,
    /// Capabilities that parameter values need. A key is a value of the parameter (`true`, `udp`) and names a
    /// capability that must be true, or it is `min` or `max` and names a bound.
    #[serde(default)]
    pub requires: IndexMap<String, BTreeMap<String, String>>,
    /// The correctness gate.
    pub gate: Gate,
    /// The requested load, if a parameter defines one.
    pub offered: Option<Offered>,
    /// Largest parameter values if the roles share one CPU, where a spinning role would take it from the other.
    #[serde(default)]
    pub one_cpu_max: IndexMap<String, ParamValue>,
    /// An effect of known size that the self-test injects and must detect.
    pub detect: Option<Detect>,
    /// How its work can be divided into turns for duels; none: it is compared in blocks.
    pub turns: Option<TurnsSpec>,
    /// Default marks per second in the window; 0: only at its ends.
    #[serde(default = "marks_hz_default")]
    pub marks_hz: u32,
    /// The metrics, in the order of the table.
    pub metrics: Vec<Metric>,
    /// The presets, in the order of the file.
    pub presets: IndexMap<String, Preset>,
}

/// A requested load and the counter of the completed part.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    /// The parameter: requests per second; 0: no requested load.
    pub param: String,
    /// The role that generates the load.
    pub role: String,
    /// Its counter of completed requests.
    pub counter: String,
}

/// An effect of known size on the primary metric, in its unit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detect {
    /// The parameter that injects the effect.
    pub param: String,
    /// The value without effect, but with the cost of injection.
    pub from: ParamValue,
    /// The injected values.
    pub values: Vec<ParamValue>,
}

/// A named set of parameter values and limits.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// One-line description.
    pub about: String,
    /// Parameter values that differ from the defaults.
    #[serde(default)]
    pub params: IndexMap<String, ParamValue>,
    /// Values of a sweep: all combinations of the lists of each table.
    #[serde(default)]
    pub sweep: Vec<IndexMap<String, Vec<ParamValue>>>,
    /// The placement, if the preset defines it.
    pub placement: Option<Placement>,
    /// Least number of blocks before a verdict.
    pub min_blocks: u32,
    /// Greatest number of blocks.
    pub max_blocks: u32,
    /// Measuring time after which no block starts, in seconds.
    pub budget_seconds: f64,
    /// The default of `--precision`.
    pub precision: Option<f64>,
}

/// How the roles of a trial share the CPU cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Each role has its own cores.
    Apart,
    /// All roles share all cores.
    Shared,
}

impl Workload {
    /// Parses and validates a workload; errors name `file`.
    pub fn parse(file: &Path, text: &str) -> Checked<Self> {
        let mut workload: Self = decode(file, text).map_err(|e| vec![e])?;
        let mut problems = Problems::new(file, text);
        workload.check(file, &mut problems);
        problems.finish(workload)
    }

    /// The parameters of a run: defaults, then the preset's values, then overrides as typed. The last override of a
    /// parameter wins.
    pub fn resolve(
        &self,
        preset: Option<&str>,
        overrides: &[(String, String)],
    ) -> Result<Params, ManifestError> {
        let mut params: IndexMap<String, ParamValue> =
            self.params.iter().map(|(name, spec)| (name.clone(), spec.default.clone())).collect();
        if let Some(name) = preset {
            params.extend(self.preset(name)?.params.clone());
        }
        for (name, text) in overrides {
            params.insert(name.clone(), self.parse_param(name, text)?);
        }
        Ok(Params(params))
    }

    /// Parses a parameter value from a command line.
    pub fn parse_param(&self, name: &str, text: &str) -> Result<ParamValue, ManifestError> {
        let value_error = |rule| ManifestError::Value { name: name.to_owned(), rule };
        self.param(name)?.parse(text).map_err(value_error)
    }

    /// A parameter by name.
    pub fn param(&self, name: &str) -> Result<&ParamSpec, ManifestError> {
        self.params.get(name).ok_or_else(|| ManifestError::unknown("parameter", name, self.params.keys()))
    }

    /// A preset by name.
    pub fn preset(&self, name: &str) -> Result<&Preset, ManifestError> {
        self.presets.get(name).ok_or_else(|| ManifestError::unknown("preset", name, self.presets.keys()))
    }

    /// A metric by name.
    pub fn metric(&self, name: &str) -> Result<&Metric, ManifestError> {
        let names = self.metrics.iter().map(|m| &m.name);
        let found = self.metrics.iter().find(|m| m.name == name);
        found.ok_or_else(|| ManifestError::unknown("metric", name, names))
    }

    /// The metric of the verdicts. A valid workload has exactly one.
    pub fn primary(&self) -> Option<&Metric> {
        self.metrics.iter().find(|m| m.primary)
    }

    /// The compared roles: those without a partner.
    pub fn compared(&self) -> impl Iterator<Item = &String> {
        self.roles.iter().filter(|role| !self.partners.contains_key(*role))
    }

    /// Restricts the comparison to one role; stand-ins play the others for all. If the primary metric is another
    /// role's cost, the first metric of this role's cost replaces it.
    pub fn of_role(mut self, role: &str) -> Result<Self, ManifestError> {
        if !self.compared().any(|known| known == role) {
            return Err(ManifestError::unknown("role that is compared", role, self.compared()));
        }
        for other in self.roles.iter().filter(|other| *other != role) {
            if self.partners.contains_key(other) {
                continue;
            }
            let Some(name) = self.stand_ins.shift_remove(other) else {
                let rule = format!("no contender is given that plays the {other} for all");
                return Err(ManifestError::Value { name: "role".to_owned(), rule });
            };
            self.partners.insert(other.clone(), name);
        }
        let of_it = |metric: &Metric| metric.from.metered().is_some_and(|of| of == role);
        let is_of_another = |metric: &Metric| metric.from.metered().is_some_and(|of| of != role);
        if self.primary().is_some_and(is_of_another)
            && let Some(own) = self.metrics.iter().position(of_it)
        {
            self.metrics.iter_mut().enumerate().for_each(|(i, metric)| metric.primary = i == own);
        }
        Ok(self)
    }

    fn check(&mut self, file: &Path, problems: &mut Problems) {
        problems.name("name", &self.name);
        let rule = format!("\"{}\" must be the file's name without .toml", self.name);
        problems.require(file.file_stem().is_none_or(|stem| stem == self.name.as_str()), "name", rule);
        for (field, text) in [("title", &self.title), ("about", &self.about), ("contract", &self.contract)] {
            problems.not_empty(field, text);
        }
        for (field, name) in [("ceiling", &self.ceiling), ("baseline", &self.baseline)] {
            name.iter().for_each(|name| problems.name(field, name));
        }
        unique("first_look", "contender", self.first_look.iter(), problems);
        problems.require(!self.roles.is_empty(), "roles", "must name at least one role");
        unique("roles", "role", self.roles.iter(), problems);
        for (field, players) in [("partners", &self.partners), ("stand_ins", &self.stand_ins)] {
            for (role, name) in players {
                problems.known(&format!("{field}.{role}"), "role", role, &self.roles);
                problems.name(&format!("{field}.{role}"), name);
            }
        }
        for role in self.stand_ins.keys().filter(|role| self.partners.contains_key(*role)) {
            problems.push(format!("stand_ins.{role}"), "its partner plays it for all: name one of them only");
        }
        self.networks_apart.iter().for_each(|why| problems.not_empty("networks_apart", why));
        let is_compared = self.roles.is_empty() || self.compared().next().is_some();
        problems.require(is_compared, "partners", "must leave at least one role to compare");
        self.check_params(problems);
        self.check_requires(problems);
        problems.entries("inputs", self.inputs.len());
        for (name, input) in &self.inputs {
            problems.name(&format!("inputs.{name}"), name);
            input.check(&format!("inputs.{name}"), &self.params, problems);
        }
        self.gate.check(&self.roles, &self.params, &self.inputs, problems);
        self.check_load(problems);
        self.check_metrics(problems);
        self.check_presets(problems);
    }

    fn check_load(&mut self, problems: &mut Problems) {
        if let Some(offered) = &self.offered {
            kind_of("offered.param", &offered.param, ParamKind::Number, &self.params, problems);
            problems.known("offered.role", "role", &offered.role, &self.roles);
            problems.not_empty("offered.counter", &offered.counter);
        }
        if let Some(detect) = &mut self.detect {
            kind_of("detect.param", &detect.param, ParamKind::Number, &self.params, problems);
            let rule = "needs a ceiling, which is measured with and without the delay";
            problems.require(self.ceiling.is_some(), "detect", rule);
            problems.require(!detect.values.is_empty(), "detect.values", "must have at least one value");
            settle_value("detect.from", &detect.param, &mut detect.from, &self.params, problems);
            for value in &mut detect.values {
                settle_value("detect.values", &detect.param, value, &self.params, problems);
            }
        }
        for (param, value) in &mut self.one_cpu_max {
            let at = format!("one_cpu_max.{param}");
            kind_of(&at, param, ParamKind::Number, &self.params, problems);
            settle_value(&at, param, value, &self.params, problems);
        }
        if let Some(turns) = &mut self.turns {
            turns.check(&self.params, problems);
        }
        let rule = format!("must be at most {MARKS_HZ_MAX}");
        problems.require(self.marks_hz <= MARKS_HZ_MAX, "marks_hz", rule);
    }

    fn check_params(&mut self, problems: &mut Problems) {
        for name in WINDOWS {
            let is_number = self.params.get(name).is_some_and(|spec| spec.kind == ParamKind::Number);
            let rule = "missing, or not a number: every workload must state the length of its windows in s";
            problems.require(is_number, format!("params.{name}"), rule);
        }
        problems.entries("params", self.params.len());
        for (name, spec) in &mut self.params {
            problems.name(&format!("params.{name}"), name);
            problems.not_empty(&format!("params.{name}.about"), &spec.about);
            if let Err((field, rule)) = spec.settle() {
                problems.push(format!("params.{name}.{field}"), rule);
            }
        }
    }

    fn check_requires(&self, problems: &mut Problems) {
        for (name, needs) in &self.requires {
            let at = format!("requires.{name}");
            let Some(spec) = self.params.get(name) else {
                problems.known(&at, "parameter", name, self.params.keys());
                continue;
            };
            let known: Vec<String> = match spec.kind {
                ParamKind::Integer | ParamKind::Number => vec!["min".into(), "max".into()],
                ParamKind::Boolean => vec!["true".into(), "false".into()],
                ParamKind::Text => spec.choices.iter().map(ParamValue::to_string).collect(),
            };
            for (key, capability) in needs {
                problems.known(&format!("{at}.{key}"), "value", key, &known);
                problems.name(&format!("{at}.{key}"), capability);
            }
        }
    }

    fn check_metrics(&self, problems: &mut Problems) {
        problems.entries("metrics", self.metrics.len());
        unique("metrics", "metric", self.metrics.iter().map(|m| &m.name), problems);
        for (i, metric) in self.metrics.iter().enumerate() {
            metric.check(&format!("metrics[{i}]"), &self.roles, &self.params, problems);
        }
        let primary = self.metrics.iter().filter(|m| m.primary).count();
        let rule = format!("{primary} have primary = true; exactly one must");
        problems.require(primary == 1, "metrics", rule);
    }

    fn check_presets(&mut self, problems: &mut Problems) {
        problems.entries("presets", self.presets.len());
        for (name, preset) in &mut self.presets {
            let at = format!("presets.{name}");
            problems.name(&at, name);
            problems.not_empty(&format!("{at}.about"), &preset.about);
            for (param, value) in &mut preset.params {
                settle_value(&format!("{at}.params.{param}"), param, value, &self.params, problems);
            }
            problems.entries(&format!("{at}.sweep"), preset.sweep.len());
            for (i, axes) in preset.sweep.iter_mut().enumerate() {
                for (param, values) in axes {
                    let at = format!("{at}.sweep[{i}].{param}");
                    problems.entries(&at, values.len());
                    problems.require(!values.is_empty(), at.as_str(), "must have at least one value");
                    for value in values {
                        settle_value(&at, param, value, &self.params, problems);
                    }
                }
            }
            problems.require(preset.min_blocks > 0, format!("{at}.min_blocks"), "must be at least 1");
            let is_valid = (preset.min_blocks..=BLOCKS_MAX).contains(&preset.max_blocks);
            let rule = format!("must be from min_blocks, {}, to {BLOCKS_MAX}", preset.min_blocks);
            problems.require(is_valid, format!("{at}.max_blocks"), rule);
            let is_valid = preset.precision.is_none_or(|p| p > 0.0 && p < 1.0);
            let rule = "must be greater than 0 and less than 1";
            problems.require(is_valid, format!("{at}.precision"), rule);
            let is_valid = preset.budget_seconds > 0.0 && preset.budget_seconds <= BUDGET_SECONDS_MAX;
            let rule = format!("must be greater than 0 and at most {BUDGET_SECONDS_MAX}");
            problems.require(is_valid, format!("{at}.budget_seconds"), rule);
        }
    }
}

fn marks_hz_default() -> u32 {
    MARKS_HZ_DEFAULT
}

/// Records names that are invalid or duplicate.
fn unique<'a>(field: &str, what: &str, names: impl Iterator<Item = &'a String>, problems: &mut Problems) {
    let mut seen: Vec<&String> = Vec::new();
    for (i, name) in names.enumerate() {
        problems.name(&format!("{field}[{i}]"), name);
        let rule = format!("{what} \"{name}\" is listed twice");
        problems.require(!seen.contains(&name), format!("{field}[{i}]"), rule);
        seen.push(name);
    }
}
