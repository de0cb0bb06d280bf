//! Errors before a contender runs.

use std::io;

/// An arena, or a role in it, could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The kernel denies network namespaces; another [`Net`](netdyno_lab_manifest::Net) may still work.
    #[error(
        "no privilege for network namespaces: {reason}; run as root, or enable unprivileged user namespaces"
    )]
    NotPermitted {
        /// The attempted system calls and their errors.
        reason: String,
    },
    /// The kernel or the container lacks a feature; another [`Net`](netdyno_lab_manifest::Net) may still work.
    #[error("this kernel or container lacks {reason}")]
    Missing {
        /// The missing feature, the kernel's error, and the remedy.
        reason: String,
    },
    /// The network could not be configured inside its namespaces.
    #[error("the private network could not be set up: {reason}")]
    Network {
        /// The step and the kernel's error.
        reason: String,
    },
    /// The request is invalid.
    #[error("{field}: {rule}")]
    Invalid {
        /// The field of the request.
        field: &'static str,
        /// The violated rule.
        rule: String,
    },
    /// The holder or an agent, which are this program itself, failed to start or broke off.
    #[error("{what}: {source}")]
    Process {
        /// The failed step.
        what: &'static str,
        /// The error from the system.
        source: io::Error,
    },
}

impl ArenaError {
    pub(crate) fn process(what: &'static str, source: io::Error) -> Self {
        Self::Process { what, source }
    }
}
