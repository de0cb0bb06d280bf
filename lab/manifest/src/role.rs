//! How a role is started: a command with placeholders.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::read::Problems;
use super::{Tool, nearest};

/// How a role is started.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSpec {
    /// The program and its arguments, with placeholders.
    pub run: Vec<String>,
    /// Its environment beside the inherited one, with placeholders.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What is started is no more than an adapter, which starts the program under test: its own memory is left out.
    #[serde(default)]
    pub adapter: bool,
}

/// What may stand in braces in a role's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// The program that was built.
    Bin,
    /// The folder of what was built.
    Dir,
    /// The contender's folder in the repository.
    Src,
    /// The Python of its virtual environment.
    Python,
    /// The Node program.
    Node,
}

impl RoleSpec {
    pub(super) fn check(&self, name: &str, tool: Tool, problems: &mut Problems) {
        let at = format!("roles.{name}");
        problems.name(&at, name);
        problems.entries(&format!("{at}.run"), self.run.len());
        problems.entries(&format!("{at}.env"), self.env.len());
        if self.run.first().is_none_or(|program| program.trim().is_empty()) {
            problems.push(format!("{at}.run"), "must name a program, as [\"{bin}\"]");
        }
        let args = self.run.iter().enumerate().map(|(i, text)| (format!("{at}.run[{i}]"), text));
        let env = self.env.iter().map(|(key, text)| (format!("{at}.env.{key}"), text));
        for (field, text) in args.chain(env) {
            if text.contains('\0') {
                problems.push(field.as_str(), "must not have a zero byte");
            }
            if let Err((rule, nearest)) = substitute(text, |p| tool.offers(p).then(String::new)) {
                problems.push_near(field, format!("{rule}; known: {}", tool.placeholders()), nearest);
            }
        }
        for key in self.env.keys() {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            if key.is_empty() || !key.bytes().all(plain) {
                problems.push(format!("{at}.env"), format!("\"{key}\" is not the name of a variable"));
            }
        }
    }
}

impl Placeholder {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Bin, Self::Dir, Self::Src, Self::Python, Self::Node];

    /// What stands between the braces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bin => "bin",
            Self::Dir => "dir",
            Self::Src => "src",
            Self::Python => "python",
            Self::Node => "node",
        }
    }
}

/// Puts values in the place of placeholders. On failure: the rule that is broken, and the placeholder meant.
pub fn substitute(
    text: &str,
    value: impl Fn(Placeholder) -> Option<String>,
) -> Result<String, (String, Option<String>)> {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        done.push_str(before);
        let inside = from.strip_prefix('{').and_then(|tail| tail.split_once('}'));
        let Some((name, tail)) = inside else {
            return Err((format!("a brace without its partner in \"{text}\""), None));
        };
        let known = Placeholder::ALL.into_iter().find(|p| p.name() == name);
        match known.map(&value) {
            Some(Some(value)) => done.push_str(&value),
            Some(None) => return Err((format!("{{{name}}} is of another build tool"), None)),
            None => {
                let near = nearest(name, Placeholder::ALL.map(Placeholder::name));
                return Err((format!("unknown placeholder {{{name}}}"), near.map(|n| format!("{{{n}}}"))));
            }
        }
        rest = tail;
    }
    done.push_str(rest);
    Ok(done)
}
