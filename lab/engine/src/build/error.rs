//! Build errors and their remedies.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use super::limits::BUILD_LIMIT;
use netdyno_lab_manifest::Contender;

/// Why a build failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum BuildError {
    #[error("{contender}: {reason}; {remedy}")]
    Unavailable { contender: String, reason: String, remedy: String },
    #[error("{contender}: {}: {rule}", path.display())]
    Source { contender: String, path: PathBuf, rule: String },
    #[error("{}: {source}; {}", path.display(), cache_remedy(source))]
    Cache { path: PathBuf, source: io::Error },
    #[error("{contender}: {step} could not be started: {source}")]
    Start { contender: String, step: String, source: io::Error },
    #[error(
        "{contender}: {step} failed ({status}){}{}\n  log: {}",
        indented(tail),
        remedy.map(|r| format!("\n  {r}")).unwrap_or_default(),
        log.display()
    )]
    Tool {
        contender: String,
        step: String,
        status: ExitStatus,
        tail: Vec<String>,
        log: PathBuf,
        remedy: Option<&'static str>,
    },
    #[error("{contender}: the build took longer than {} s{}\n  log: {}", BUILD_LIMIT.as_secs(), indented(tail), log.display())]
    TimeLimit { contender: String, tail: Vec<String>, log: PathBuf },
    #[error("{contender}: {step} failed ({status}): {said}")]
    Denied { contender: String, step: String, status: ExitStatus, said: String },
    /// A query of a tool timed out, or its reply is invalid.
    #[error("{contender}: {step}: {reason}")]
    Probe { contender: String, step: String, reason: String },
    #[error("{contender}: the build was cancelled")]
    Cancelled { contender: String },
}

pub(super) type Result<T, E = BuildError> = std::result::Result<T, E>;

impl BuildError {
    pub(super) fn cache(path: &Path, source: io::Error) -> Self {
        Self::Cache { path: path.to_owned(), source }
    }

    pub(super) fn invalid(contender: &Contender, path: &Path, rule: String) -> Self {
        Self::Source { contender: contender.id(), path: path.to_owned(), rule }
    }
}

/// Signs of common causes in the output of tools, with remedies.
const KNOWN_CAUSES: &[(&[&str], &str)] = &[
    (
        &["No space left on device", "code ENOSPC", "ENOSPC: "],
        "the disk is full: free some space, or set NETDYNO_CACHE to a folder on another disk",
    ),
    (
        &["Read-only file system", "code EROFS", "EROFS: ", "Permission denied", "code EACCES", "EACCES: "],
        "a folder cannot be written: set NETDYNO_CACHE (and CARGO_HOME, GOPATH or npm_config_cache) to one that can",
    ),
    (
        &[
            "Could not resolve host",
            "Couldn't resolve host",
            "dial tcp",
            "code ENOTFOUND",
            "getaddrinfo ENOTFOUND",
            "EAI_AGAIN",
            "error sending request",
            "Temporary failure in name resolution",
            "Failed to establish a new connection",
            "Network is unreachable",
        ],
        "a package could not be downloaded: check the network and proxy; cached packages need neither",
    ),
    (
        &[
            "cannot update the lock file",
            "needs to be updated but --locked",
            "missing go.sum entry",
            "`npm ci` can only install",
        ],
        "the lock file does not match the manifest: update it with the tool and keep it with the contender",
    ),
    (
        // The end of the message of setuptools, which begins with "Multiple top-level packages discovered".
        &["\"package discovery\" on setuptools docs"],
        "setuptools takes the folder of the contenders for a package: name the packages of the library in pyproject.toml, \
         as in `[tool.setuptools]` with `packages = [\"my_lib\"]`",
    ),
    (
        &["THESE PACKAGES DO NOT MATCH THE HASHES", "Hashes are required"],
        "requirements.txt must give the hash of every package: pip-compile --generate-hashes",
    ),
];

pub(super) fn remedy_for(tail: &[String]) -> Option<&'static str> {
    let seen = |signs: &[&str]| tail.iter().any(|line| signs.iter().any(|sign| line.contains(sign)));
    KNOWN_CAUSES.iter().find(|(signs, _)| seen(signs)).map(|(_, remedy)| *remedy)
}

/// The remedy for an error of the cache.
pub fn cache_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or set NETDYNO_CACHE to a folder on another disk"
        }
        _ => "set NETDYNO_CACHE to a folder that can be written",
    }
}

fn indented(tail: &[String]) -> String {
    tail.iter().map(|line| format!("\n  | {line}")).collect()
}
