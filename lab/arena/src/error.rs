//! What can go wrong before a contender runs.

use std::io;

/// An arena, or a role in it, could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The kernel does not let us make network namespaces; another [`Net`](netdyno_lab_manifest::Net) may still work.
    #[error(
        "no privilege for network namespaces: {reason}; run as root, or enable unprivileged user namespaces"
    )]
    NotPermitted {
        /// The system calls that were tried, and what they answered.
        reason: String,
    },
    /// The kernel, or the container that we are in, lacks what this network is made of; another [`Net`](netdyno_lab_manifest::Net) may
    /// still work.
    #[error("this kernel or container lacks {reason}")]
    Missing {
        /// What is missing, what the kernel answered, and the remedy.
        reason: String,
    },
    /// The network could not be configured inside its namespaces.
    #[error("the private network could not be set up: {reason}")]
    Network {
        /// The step and what the kernel answered.
        reason: String,
    },
    /// The request itself makes no sense.
    #[error("{field}: {rule}")]
    Invalid {
        /// The field of the request.
        field: &'static str,
        /// The rule that it breaks.
        rule: String,
    },
    /// The holder or the agent, which are this program itself, did not start or broke off.
    #[error("{what}: {source}")]
    Process {
        /// What we were doing.
        what: &'static str,
        /// What the system answered.
        source: io::Error,
    },
}

impl ArenaError {
    pub(crate) fn process(what: &'static str, source: io::Error) -> Self {
        Self::Process { what, source }
    }
}
