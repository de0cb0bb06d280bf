//! Checks of this machine and of the lab itself.

pub mod against_itself;
mod findings;
pub mod losses;
mod noise;
pub mod resolution;
pub mod self_duels;
pub mod self_test;

pub use findings::{Grade, MachineFinding, findings};
