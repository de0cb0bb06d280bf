//! A promise that was not kept.

use std::fmt;
use std::time::Duration;

/// What went wrong in a run, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Time since the start of the run.
    pub at: Duration,
    /// What was promised, and what came instead.
    pub what: String,
}

impl Failure {
    /// A failure at this time.
    pub fn new(at: Duration, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }

    /// Fails unless `holds`.
    pub fn unless(holds: bool, at: Duration, what: impl FnOnce() -> String) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::new(at, what())) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {:?}: {}", self.at, self.what)
    }
}

impl std::error::Error for Failure {}
