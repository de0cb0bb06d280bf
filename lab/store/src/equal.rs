//! A property that a run equalises for all contenders.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The equalised property, with the library that equalises it, if any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Equal {
    /// Receive buffers keep the system's default: a preloaded library intercepts calls that set them.
    Rcvbuf {
        /// The library.
        library: PathBuf,
    },
    /// Devices of the private network accept one segment at a time.
    Gso,
    /// Each role has one CPU.
    Workers,
    /// A preloaded library allocates all memory.
    Allocator {
        /// The library.
        library: PathBuf,
    },
}

impl Equal {
    /// The name on the command line.
    pub fn name(&self) -> &'static str {
        self.into()
    }
}
