//! One thing made equal for all contenders of a run, to see what it is worth. Such a run says nothing of what they are by themselves.

use std::path::{Path, PathBuf};

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

    /// Adds what a role's environment needs for it.
    pub(super) fn set(&self, env: &mut Vec<(String, String)>) {
        match self {
            Equal::Rcvbuf { library } => {
                preload(env, library);
                env.push(("NETDYNO_RCVBUF".to_owned(), "keep".to_owned()));
            }
            Equal::Allocator { library } => preload(env, library),
            Equal::Gso | Equal::Workers => {}
        }
    }
}

/// Adds a library to those that a role loads before its own.
pub(crate) fn preload(env: &mut Vec<(String, String)>, library: &Path) {
    let library = library.display();
    match env.iter_mut().find(|(name, _)| name == "LD_PRELOAD") {
        Some((_, libraries)) => libraries.push_str(&format!(":{library}")),
        None => env.push(("LD_PRELOAD".to_owned(), library.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_loaded_beside_others() {
        let mut env = Vec::new();
        Equal::Allocator { library: "/a.so".into() }.set(&mut env);
        Equal::Gso.set(&mut env);
        Equal::Rcvbuf { library: "/b.so".into() }.set(&mut env);
        let expected = [("LD_PRELOAD", "/a.so:/b.so"), ("NETDYNO_RCVBUF", "keep")];
        assert_eq!(env, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
