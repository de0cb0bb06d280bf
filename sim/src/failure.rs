//! A violation of the contract or of a protocol guarantee.

use std::fmt;
use std::time::Duration;

/// A failure of a run, and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Time since the start of the run.
    pub at: Duration,
    /// The expectation and the observation.
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
