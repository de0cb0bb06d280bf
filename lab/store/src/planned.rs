//! A cell as it was planned.

use std::collections::{BTreeMap, BTreeSet};

use netdyno_lab_manifest::Params;

/// One cell, before anything is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCell {
    /// Contender of each role.
    pub contenders: BTreeMap<String, String>,
    /// The roles that their standard partner plays.
    pub partners: BTreeSet<String>,
    /// The workload's parameters.
    pub params: Params,
    /// This is the bound.
    pub ceiling: bool,
    /// This is a contender a second time, to be compared with itself.
    pub again: bool,
    /// Thousandths of each turn in which it is made to stand still: a loss of known size.
    pub stalled: u32,
}
