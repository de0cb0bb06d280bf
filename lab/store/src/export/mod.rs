//! A run as a file, with every sample and the printed verdicts.
//!
//! | does | does not |
//! |---|---|
//! | write a stored run, and read it back unchanged | store builds: imported runs can be shown, compared and
//! replayed, but not resumed |
//! | reject damaged, truncated, oversized, newer and unrelated files, with the reason | access the store |
//!
//! The file is gzip-compressed (RFC 1952) JSON lines of format 1; `netdyno schema export` prints the schema of a
//! line:
//!
//! ```text
//! {"begin": {"format": 1, "netdyno": "0.1.0", "cells": 2, "trials": 12, "header": .., "status": .., "printed": ..}}
//! {"cell": ..}      one per cell, in order
//! {"trial": ..}     one per trial, with all samples and histograms
//! {"end": {"sha256": ".."}}      of all previous lines, including newlines
//! ```

mod error;
pub mod limits;
mod read;
#[cfg(test)]
mod tests;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use error::ExportError;
pub use read::{read, read_lines};

use crate::{CellRecord, Printed, Run, RunHeader, RunStatus, StopReason, TrialRecord};
use netdyno_lab_manifest::hex;

/// The format that is written, and the newest that is read.
pub const FORMAT: u32 = 1;

/// A run with its printed verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The run.
    pub run: Run,
    /// The printed verdicts.
    pub printed: Printed,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The first line.
    Begin(Box<Begin>),
    /// A cell.
    Cell(Box<CellRecord>),
    /// A trial.
    Trial(Box<TrialRecord>),
    /// The last line.
    End(End),
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Begin {
    /// Format of the file.
    format: u32,
    /// Version of the program that wrote it.
    netdyno: String,
    /// Cells that follow.
    cells: usize,
    /// Trials that follow.
    trials: usize,
    /// The run's header.
    header: RunHeader,
    /// Its status.
    status: RunStatus,
    /// Why it stopped.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    stopped_because: StopReason,
    /// The printed verdicts.
    printed: Printed,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct End {
    /// SHA-256 of all previous lines, as 64 hex digits.
    sha256: String,
}

/// The JSON Schema of a line.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Line)
}

/// Writes a run, compressed.
pub fn write(exported: &Exported, to: impl Write) -> std::io::Result<()> {
    let mut lines = GzEncoder::new(to, Compression::default());
    write_lines(exported, &mut lines)?;
    lines.finish()?.flush()
}

/// Like [`write`], uncompressed.
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
        stopped_because: run.stopped_because,
        printed: printed.clone(),
    })))?;
    run.cells.iter().try_for_each(|cell| say(&Line::Cell(Box::new(cell.clone()))))?;
    run.trials.iter().try_for_each(|trial| say(&Line::Trial(Box::new(trial.clone()))))?;
    to.write_all(end(&hex(&hash.finalize())).as_bytes())
}

/// The last line, with this hash of the previous ones.
fn end(sha256: &str) -> String {
    format!("{{\"end\":{{\"sha256\":\"{sha256}\"}}}}\n")
}

/// Appends the last line to hand-written or fuzzed lines.
pub fn sealed(lines: &[u8]) -> Vec<u8> {
    let mut whole = lines.to_vec();
    if whole.last().is_some_and(|byte| *byte != b'\n') {
        whole.push(b'\n');
    }
    let last = end(&hex(&Sha256::digest(&whole)));
    whole.extend(last.into_bytes());
    whole
}
