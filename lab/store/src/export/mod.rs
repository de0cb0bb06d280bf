//! A run as one file, to keep or to send: every sample, and what was printed of it.
//!
//! | does | does not |
//! |---|---|
//! | write a stored run, and read it again as it was | hold builds: a run from elsewhere is shown, compared and computed again, not gone on with |
//! | refuse what is damaged, cut short, too large, of a newer netdyno, or something else, each by name | touch the store: [`crate`] takes a run whole or not at all |
//!
//! The file is gzip (RFC 1952) of lines of JSON, format 1; `netdyno schema export` is the schema of a line:
//!
//! ```text
//! {"begin": {"format": 1, "netdyno": "0.1.0", "cells": 2, "trials": 12, "header": .., "status": .., "printed": ..}}
//! {"cell": ..}      one a cell, in their order
//! {"trial": ..}     one a trial, with all its samples and histograms
//! {"end": {"sha256": ".."}}      of all the lines before, their newlines included
//! ```

mod error;
pub mod limits;
mod read;
#[cfg(test)]
mod tests;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use error::ExportError;
pub use read::{read, read_lines};

use crate::Printed;
use crate::{CellRecord, Run, RunHeader, RunStatus, TrialRecord};
use netdyno_lab_manifest::hex;

/// Format that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// A run with what was printed of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The run.
    pub run: Run,
    /// What was printed of it.
    pub printed: Printed,
}

/// A line.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The first.
    Begin(Box<Begin>),
    /// A cell.
    Cell(Box<CellRecord>),
    /// A trial.
    Trial(Box<TrialRecord>),
    /// The last.
    End(End),
}

/// What a file begins with.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Begin {
    /// Format of the file.
    format: u32,
    /// Version of the program that wrote it.
    netdyno: String,
    /// Cells that follow.
    cells: usize,
    /// Trials that follow.
    trials: usize,
    /// The run as it was asked for.
    header: RunHeader,
    /// How it stood.
    status: RunStatus,
    /// Why it stopped.
    stopped_because: String,
    /// What was printed of it.
    printed: Printed,
}

/// What a file ends with.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct End {
    /// SHA-256 of all the lines before, as 64 hex digits.
    sha256: String,
}

/// The JSON Schema of a line.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Line)
}

/// Writes a run.
///
/// # Errors
/// What the writer says.
pub fn write(exported: &Exported, to: impl Write) -> std::io::Result<()> {
    let mut lines = GzEncoder::new(to, Compression::default());
    write_lines(exported, &mut lines)?;
    lines.finish()?.flush()
}

/// The same, not compressed.
fn write_lines(exported: &Exported, to: &mut impl Write) -> std::io::Result<()> {
    let Exported { run, printed } = exported;
    let mut hash = Sha256::new();
    let mut say = |line: &Line| {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        hash.update(&text);
        to.write_all(&text)
    };
    say(&Line::Begin(Box::new(Begin {
        format: FORMAT,
        netdyno: env!("CARGO_PKG_VERSION").to_owned(),
        cells: run.cells.len(),
        trials: run.trials.len(),
        header: run.header.clone(),
        status: run.status,
        stopped_because: run.stopped_because.clone(),
        printed: printed.clone(),
    })))?;
    run.cells.iter().try_for_each(|cell| say(&Line::Cell(Box::new(cell.clone()))))?;
    run.trials.iter().try_for_each(|trial| say(&Line::Trial(Box::new(trial.clone()))))?;
    to.write_all(end(&hex(&hash.finalize())).as_bytes())
}

/// The last line of what has this hash before it.
fn end(sha256: &str) -> String {
    format!("{{\"end\":{{\"sha256\":\"{sha256}\"}}}}\n")
}

/// What was written by hand, or by a fuzzer, with the last line that makes it whole.
#[must_use]
pub fn sealed(lines: &[u8]) -> Vec<u8> {
    let mut whole = lines.to_vec();
    if whole.last().is_some_and(|byte| *byte != b'\n') {
        whole.push(b'\n');
    }
    let last = end(&hex(&Sha256::digest(&whole)));
    whole.extend(last.into_bytes());
    whole
}
