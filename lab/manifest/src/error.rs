//! What can be wrong with a manifest, or with a name or a value that was asked of one.

use std::fmt;
use std::path::{Path, PathBuf};

use indexmap::IndexSet;

use super::limits::NAME_BYTES_MAX;

/// A defect of a manifest (its author's to mend) or of a request (the caller's).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A manifest or folder could not be read.
    #[error("{}: cannot be read: {reason}", file.display())]
    Unreadable {
        /// The file or folder.
        file: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A manifest breaks a rule.
    #[error("{}{}: {}{rule}{}", file.display(), Line(*line), Field(field), Hint(nearest))]
    Invalid {
        /// The manifest, relative to the repository where that is known.
        file: PathBuf,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// The dotted path of the field, as `roles.offerer.run[0]`; empty for the whole file.
        field: String,
        /// The rule that is broken, and how to keep it.
        rule: String,
        /// The known name nearest to an unknown one.
        nearest: Option<String>,
    },
    /// A manifest breaks several rules.
    #[error("{}", Lines(.0))]
    Broken(Vec<ManifestError>),
    /// No such workload, contender, preset or parameter.
    #[error("unknown {what} \"{name}\"{}; known: {}", Meant(nearest), List(known))]
    Unknown {
        /// What kind of name it is.
        what: &'static str,
        /// The name that was asked for.
        name: String,
        /// The nearest known name, if one is near.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A contender's name where a workload's is wanted.
    #[error("unknown workload \"{name}\": that is a contender of {}; say `{} {name}`", List(workloads), workloads.join("|"))]
    ContenderForWorkload {
        /// The name that was asked for.
        name: String,
        /// The workloads that have such a contender.
        workloads: Vec<String>,
    },
    /// A parameter's value breaks the parameter's rule.
    #[error("parameter \"{name}\": {rule}")]
    Value {
        /// The parameter.
        name: String,
        /// The rule that is broken, with the value that was given.
        rule: String,
    },
    /// No repository was found.
    #[error(
        "no folder with workloads/ and contenders/ here or above, and this netdyno was built without a catalogue of its own; run \
         inside a checkout of netdyno or set NETDYNO_ROOT"
    )]
    NoRoot,
}

impl ManifestError {
    /// An unknown name, with the nearest of the known ones.
    pub fn unknown<S: AsRef<str>>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) -> Self {
        // One name may be that of contenders of several workloads.
        let known: IndexSet<String> = known.into_iter().map(|k| k.as_ref().to_owned()).collect();
        let nearest = nearest(name, &known);
        Self::Unknown { what, name: name.to_owned(), nearest, known: known.into_iter().collect() }
    }

    pub(super) fn unreadable(file: &Path, error: &std::io::Error) -> Self {
        Self::Unreadable { file: file.to_owned(), reason: error.to_string() }
    }

    /// The manifest at fault, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Unreadable { file, .. } | Self::Invalid { file, .. } => Some(file),
            Self::Broken(all) => all.first().and_then(Self::file),
            Self::Unknown { .. } | Self::ContenderForWorkload { .. } | Self::Value { .. } | Self::NoRoot => {
                None
            }
        }
    }
}

/// The known name that `name` was most likely meant to be: within a third of its letters, swaps counted once.
pub fn nearest<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> Option<String> {
    if name.len() > 2 * NAME_BYTES_MAX {
        return None;
    }
    let allowed = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|k| (strsim::osa_distance(name, k.as_ref()), k))
        .filter(|(distance, k)| *distance <= allowed && *distance < k.as_ref().chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k.as_ref().to_owned())
}

struct Line(Option<usize>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

struct Field<'a>(&'a str);

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}

struct Hint<'a>(&'a Option<String>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |name| write!(f, " (did you mean {name}?)"))
    }
}

struct Meant<'a>(&'a Option<String>);

impl fmt::Display for Meant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |name| write!(f, "; did you mean \"{name}\"?"))
    }
}

struct Lines<'a>(&'a [ManifestError]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n  "))
    }
}

struct List<'a>(&'a [String]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("none") } else { f.write_str(&self.0.join(", ")) }
    }
}
