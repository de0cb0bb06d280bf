//! The `netdyno` command: one file a verb.
//!
//! | does | does not |
//! |---|---|
//! | parse the command line ([`cli`]), and run one verb ([`cmd`]) | measure, judge or render: the crates below it do |
//! | carry the catalogue of workloads and contenders ([`catalogue`]) | know a workload or contender by name |
//! | test the machine and the lab itself ([`doctor`], [`dummy`]) | |
//!
//! `ARCHITECTURE.md` has the map of the lab's crates.

pub mod cli;
pub mod cmd;
pub mod doctor;
pub mod dummy;
pub mod embedded;
