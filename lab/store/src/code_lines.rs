//! Lines of code of a contender, as they are stored and shown. What counts them is [`netdyno_lab_engine::build`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lines of code; comments and blank lines are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeLines {
    /// The library under test with the packages in the program that are its owner's; tests and examples are left out.
    pub library: LineCount,
    /// The contender's own files: what was written to use the library here.
    pub adapter: LineCount,
    /// Of library and adapter, what a program wrote; it is in neither of those two.
    pub generated: LineCount,
}

/// So many lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineCount {
    /// How many; null: not measured, `source` says why.
    pub lines: Option<u64>,
    /// What was counted, or why nothing was.
    pub source: String,
    /// The packages' parts, where there are several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, u64>,
}

impl LineCount {
    /// So many lines of what `source` names.
    #[must_use]
    pub fn of(lines: u64, source: impl Into<String>) -> Self {
        Self { lines: Some(lines), source: source.into(), parts: BTreeMap::new() }
    }

    /// None, and why.
    #[must_use]
    pub fn not_measured(why: impl Into<String>) -> Self {
        Self { lines: None, source: why.into(), parts: BTreeMap::new() }
    }
}

impl CodeLines {
    /// None of the three, for one reason.
    #[must_use]
    pub fn not_measured(why: &str) -> Self {
        let [library, adapter, generated] = [(); 3].map(|()| LineCount::not_measured(why));
        Self { library, adapter, generated }
    }

    /// The three with their names, in the order of the columns.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &LineCount); 3] {
        [("library", &self.library), ("adapter", &self.adapter), ("generated", &self.generated)]
    }
}
