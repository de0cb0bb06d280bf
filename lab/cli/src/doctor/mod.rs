//! Checks of this machine and of the lab itself.

pub(crate) mod against_itself;
mod findings;
pub(crate) mod losses;
pub(crate) mod resolution;
pub(crate) mod self_duels;
pub(crate) mod self_test;

pub(crate) use findings::{Grade, findings};
