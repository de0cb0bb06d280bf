//! Errors before a contender runs.

use std::fmt::Display;
use std::io;

/// An arena, or a role in it, could not be set up.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum ArenaError {
    /// The kernel denies network namespaces; another [`Net`](netdyno_lab_manifest::Net) may still work.
    #[error(
        "no privilege for network namespaces: {reason}; run as root, or enable unprivileged user namespaces"
    )]
    NotPermitted { reason: String },
    /// The kernel or the container lacks a feature; another [`Net`](netdyno_lab_manifest::Net) may still work.
    #[error("this kernel or container lacks {reason}")]
    Missing { reason: String },
    #[error("the private network could not be set up: {reason}")]
    Network { reason: String },
    #[error("{field}: {rule}")]
    Invalid { field: &'static str, rule: String },
    #[error("{what}: {source}")]
    Process { what: &'static str, source: io::Error },
}

/// Adds what failed to an error.
pub(crate) fn failed<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

impl ArenaError {
    pub(crate) fn process(what: &'static str, source: io::Error) -> Self {
        Self::Process { what, source }
    }
}
