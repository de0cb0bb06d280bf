//! One thing made equal for all contenders of a run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What is made equal, and by which file where it takes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Equal {
    /// Receive buffers stay as the system has them: a preloaded library answers whoever sets them.
    Rcvbuf {
        /// The library.
        library: PathBuf,
    },
    /// Devices of the trial's own network take no segments.
    Gso,
    /// Each role has one CPU.
    Workers,
    /// Memory comes from this library, preloaded.
    Allocator {
        /// The library.
        library: PathBuf,
    },
}

impl Equal {
    /// As typed, and in words.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Equal::Rcvbuf { .. } => "rcvbuf",
            Equal::Gso => "gso",
            Equal::Workers => "workers",
            Equal::Allocator { .. } => "allocator",
        }
    }
}
