//! How a role is started: a command with placeholders.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::read::Problems;
use super::{Tool, substitute};

/// How a role is started.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSpec {
    /// The program and its arguments, with placeholders.
    pub run: Vec<String>,
    /// Environment variables added to the inherited ones, with placeholders.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The started process is only an adapter that starts the program under test; its own memory is not counted.
    #[serde(default)]
    pub adapter: bool,
}

impl RoleSpec {
    pub(super) fn check(&self, name: &str, tool: Tool, problems: &mut Problems) {
        let at = format!("roles.{name}");
        problems.name(&at, name);
        problems.entries(&format!("{at}.run"), self.run.len());
        problems.entries(&format!("{at}.env"), self.env.len());
        let has_program = self.run.first().is_some_and(|program| !program.trim().is_empty());
        problems.require(has_program, format!("{at}.run"), "must name a program, as [\"{bin}\"]");
        let args = self.run.iter().enumerate().map(|(i, text)| (format!("{at}.run[{i}]"), text));
        let env = self.env.iter().map(|(key, text)| (format!("{at}.env.{key}"), text));
        for (field, text) in args.chain(env) {
            problems.require(!text.contains('\0'), field.as_str(), "must not contain a NUL byte");
            if let Err((rule, nearest)) = substitute(text, |p| tool.offers(p).then(String::new)) {
                problems.push_near(field, format!("{rule}; known: {}", tool.placeholders()), nearest);
            }
        }
        for key in self.env.keys() {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            let is_name = !key.is_empty() && key.bytes().all(plain);
            let rule = format!("\"{key}\" is not the name of an environment variable");
            problems.require(is_name, format!("{at}.env"), rule);
        }
    }
}
