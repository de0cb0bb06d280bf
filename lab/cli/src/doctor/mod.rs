//! Is this machine fit to measure on? Findings with remedies, and the lab's test of itself.

pub mod against_itself;
mod findings;
pub mod losses;
mod noise;
pub mod resolution;
pub mod self_duels;
pub mod self_test;

pub use findings::{Finding, Grade, findings};
