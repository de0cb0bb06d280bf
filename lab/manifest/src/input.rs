//! An input of a workload: a file that a program of the workload generates before the trials.

use serde::Deserialize;

use super::params::Specs;
use super::read::Problems;
use super::{BuildSpec, Params, Placeholder};

/// A generated file. Its program is in `workloads/<workload>/<input>`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputSpec {
    /// One-line description.
    pub about: String,
    /// The parameters that determine its content.
    pub params: Vec<String>,
    /// How its program is built.
    pub build: BuildSpec,
}

impl InputSpec {
    /// The arguments of its program: `name=value`, in the order of the manifest.
    pub fn arguments(&self, params: &Params) -> Vec<String> {
        let values = self.params.iter().filter_map(|name| Some((name, params.get(name)?)));
        values.map(|(name, value)| format!("{name}={value}")).collect()
    }

    pub(super) fn check(&self, at: &str, known: &Specs, problems: &mut Problems) {
        problems.not_empty(&format!("{at}.about"), &self.about);
        problems.entries(&format!("{at}.params"), self.params.len());
        for (i, name) in self.params.iter().enumerate() {
            problems.known(&format!("{at}.params[{i}]"), "parameter", name, known.keys());
        }
        let rule = format!("{} builds no program: use cargo, cc or go", self.build.tool.name());
        problems.require(self.build.tool.offers(Placeholder::Bin), format!("{at}.build.tool"), rule);
        let rule = "an input's program cannot be a variant";
        problems.require(self.build.from.is_none(), format!("{at}.build.from"), rule);
        self.build.check(&format!("{at}.build"), problems);
    }
}
