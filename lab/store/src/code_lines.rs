//! Lines of code of a contender, as stored and shown. [`netdyno_lab_engine::build`] counts them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Lines of code, without comments and blank lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeLines {
    /// The library under test and the packages of the same owner in the program, without tests and examples.
    pub library: LineCount,
    /// The contender's own files.
    pub adapter: LineCount,
    /// Generated lines of library and adapter, which those two exclude.
    pub generated: LineCount,
}

/// A number of lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineCount {
    /// The number; null: not measured, with the reason in `source`.
    pub lines: Option<u64>,
    /// What was counted, or why nothing was.
    pub source: String,
    /// The lines of each package, if there are several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, u64>,
}

impl LineCount {
    /// A number of lines of what `source` names.
    pub fn of(lines: u64, source: impl Into<String>) -> Self {
        Self { lines: Some(lines), source: source.into(), parts: BTreeMap::new() }
    }

    /// Not counted, with the reason.
    pub fn not_measured(why: impl Into<String>) -> Self {
        Self { lines: None, source: why.into(), parts: BTreeMap::new() }
    }
}

impl CodeLines {
    /// None of the three, for the same reason.
    pub fn not_measured(why: &str) -> Self {
        let [library, adapter, generated] = [(); 3].map(|()| LineCount::not_measured(why));
        Self { library, adapter, generated }
    }

    /// The three with their names, in the order of the columns.
    pub fn parts(&self) -> [(&'static str, &LineCount); 3] {
        [("library", &self.library), ("adapter", &self.adapter), ("generated", &self.generated)]
    }
}
