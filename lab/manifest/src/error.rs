//! Problems of manifests, names and values.

use std::path::{Path, PathBuf};

use indexmap::IndexSet;

use super::limits::NAME_BYTES_MAX;

/// A problem of a manifest (to be fixed by its author) or of a request (by the caller).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum ManifestError {
    #[error("{}: cannot be read: {reason}", file.display())]
    Unreadable { file: PathBuf, reason: String },
    #[error(
        "{}{}: {}{rule}{}",
        file.display(),
        optional(*line, |line| format!(":{line}")),
        optional(Some(field).filter(|f| !f.is_empty()), |field| format!("{field}: ")),
        optional(nearest.as_ref(), |name| format!(" (did you mean {name}?)"))
    )]
    Invalid { file: PathBuf, line: Option<usize>, field: String, rule: String, nearest: Option<String> },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  "))]
    Broken(Vec<ManifestError>),
    #[error(
        "unknown {what} \"{name}\"{}; known: {}",
        optional(nearest.as_ref(), |name| format!("; did you mean \"{name}\"?")),
        list(known)
    )]
    Unknown { what: &'static str, name: String, nearest: Option<String>, known: Vec<String> },
    #[error("unknown workload \"{name}\": that is a contender of {}; use `{} {name}`", list(workloads), workloads.join("|"))]
    ContenderForWorkload { name: String, workloads: Vec<String> },
    #[error("parameter \"{name}\": {rule}")]
    Value { name: String, rule: String },
    #[error(
        "no folder with workloads/ and contenders/ here or above, and this netdyno was built without a catalogue of its own; run \
         inside a checkout of netdyno or set NETDYNO_ROOT"
    )]
    NoRoot,
}

/// A result that may be any of a manifest's problems.
pub(super) type Checked<T> = Result<T, Vec<ManifestError>>;

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

    /// A rule that a field of a manifest breaks, without its line.
    pub(super) fn invalid(file: &Path, field: &str, rule: String) -> Self {
        Self::Invalid { file: file.to_owned(), line: None, field: field.to_owned(), rule, nearest: None }
    }

    pub(super) fn unreadable(file: &Path, error: &std::io::Error) -> Self {
        Self::Unreadable { file: file.to_owned(), reason: error.to_string() }
    }

    /// The manifest with the problem, if any.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Unreadable { file, .. } | Self::Invalid { file, .. } => Some(file),
            Self::Broken(all) => all.first().and_then(Self::file),
            _ => None,
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

fn optional<T>(part: Option<T>, text: impl Fn(T) -> String) -> String {
    part.map(text).unwrap_or_default()
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
