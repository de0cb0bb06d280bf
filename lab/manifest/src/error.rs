//! Problems of manifests, names and values.

use std::fmt;
use std::path::{Path, PathBuf};

use indexmap::IndexSet;

use super::limits::NAME_BYTES_MAX;

/// A problem of a manifest (to be fixed by its author) or of a request (by the caller).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A manifest or folder could not be read.
    #[error("{}: cannot be read: {reason}", file.display())]
    Unreadable {
        /// The file or folder.
        file: PathBuf,
        /// The error from the system.
        reason: String,
    },
    /// A manifest breaks a rule.
    #[error("{}{}: {}{rule}{}", file.display(), Line(*line), Field(field), Hint(nearest))]
    Invalid {
        /// The manifest, relative to the repository if possible.
        file: PathBuf,
        /// The line, from 1, if known.
        line: Option<usize>,
        /// The dotted path of the field, such as `roles.offerer.run[0]`; empty for the whole file.
        field: String,
        /// The violated rule.
        rule: String,
        /// The known name closest to an unknown one.
        nearest: Option<String>,
    },
    /// A manifest breaks several rules.
    #[error("{}", Lines(.0))]
    Broken(Vec<ManifestError>),
    /// No such workload, contender, preset or parameter.
    #[error("unknown {what} \"{name}\"{}; known: {}", Meant(nearest), List(known))]
    Unknown {
        /// The kind of name.
        what: &'static str,
        /// The name in the request.
        name: String,
        /// The closest known name, if any.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A contender's name in place of a workload's.
    #[error("unknown workload \"{name}\": that is a contender of {}; say `{} {name}`", List(workloads), workloads.join("|"))]
    ContenderForWorkload {
        /// The name in the request.
        name: String,
        /// The workloads that have this contender.
        workloads: Vec<String>,
    },
    /// A parameter's value breaks the parameter's rule.
    #[error("parameter \"{name}\": {rule}")]
    Value {
        /// The parameter.
        name: String,
        /// The violated rule, with the given value.
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
    /// An unknown name, with the closest known one.
    pub fn unknown<S: AsRef<str>>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) -> Self {
        // Contenders of several workloads may have the same name.
        let known: IndexSet<String> = known.into_iter().map(|k| k.as_ref().to_owned()).collect();
        let nearest = nearest(name, &known);
        Self::Unknown { what, name: name.to_owned(), nearest, known: known.into_iter().collect() }
    }

    pub(super) fn unreadable(file: &Path, error: &std::io::Error) -> Self {
        Self::Unreadable { file: file.to_owned(), reason: error.to_string() }
    }

    /// The manifest with the problem, if any.
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

/// The known name that was probably meant: at an edit distance of at most a third of the characters.
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
