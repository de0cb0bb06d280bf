//! A planned cell.

use std::collections::{BTreeMap, BTreeSet};

use netdyno_lab_manifest::Params;

/// A cell before it is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCell {
    /// Contender of each role.
    pub contenders: BTreeMap<String, String>,
    /// The roles played by a partner.
    pub partners: BTreeSet<String>,
    /// The workload's parameters.
    pub params: Params,
    /// Whether it is the ceiling.
    pub ceiling: bool,
    /// Whether it is a second copy of a contender, for a comparison with itself.
    pub again: bool,
    /// Thousandths of each turn in which it is frozen: an injected slowdown of known size.
    pub stalled: u32,
}
