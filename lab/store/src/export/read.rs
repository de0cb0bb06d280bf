//! Reading an exported run. It is fully validated before it is used.

use std::io::{BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::GzDecoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::limits::{ID_BYTES_MAX, LINE_BYTES_MAX, SAMPLES_MAX, TEXT_BYTES_MAX, TRIALS_MAX};
use super::{Begin, ExportError, Exported, FORMAT, Line};
use crate::limits::CELLS_MAX;
use crate::{CellRecord, Run, TrialRecord};
use netdyno_lab_manifest::hex;
use netdyno_lab_manifest::limits::TURNS_MAX;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a compressed file.
pub fn read(from: impl Read) -> Result<Exported, ExportError> {
    let mut from = BufReader::new(from);
    if !from.fill_buf().map_err(ExportError::Io)?.starts_with(&GZIP) {
        return Err(ExportError::Foreign("it is not compressed with gzip".to_owned()));
    }
    read_lines(BufReader::new(GzDecoder::new(from).take(TEXT_BYTES_MAX + 1)))
}

/// Like [`read`], decompressed.
pub fn read_lines(from: impl BufRead) -> Result<Exported, ExportError> {
    let mut lines = Lines { from, hash: Sha256::new(), count: 0, bytes: 0, before: String::new() };
    let first = lines.next()?.ok_or_else(|| ExportError::Foreign("it is empty".to_owned()))?;
    let begin = begin(&first)?;
    let (mut cells, mut trials, mut samples) = (Vec::new(), Vec::new(), 0);
    let sha256 = loop {
        let text = lines.next()?.ok_or(ExportError::CutShort(lines.count))?;
        match serde_json::from_str(&text).map_err(|e| lines.damaged(e.to_string()))? {
            Line::Cell(cell) if cells.len() < begin.cells && trials.is_empty() => cells.push(*cell),
            Line::Trial(trial) if trials.len() < begin.trials => {
                samples += trial.samples.len();
                if samples > SAMPLES_MAX {
                    return Err(ExportError::Impossible(format!("more than {SAMPLES_MAX} samples")));
                }
                trials.push(*trial);
            }
            Line::End(end) => break end.sha256,
            Line::Begin(_) | Line::Cell(_) | Line::Trial(_) => {
                return Err(lines.damaged("is unexpected here".to_owned()));
            }
        }
    };
    if sha256 != lines.before {
        return Err(lines.damaged("the preceding lines are not those that were written".to_owned()));
    }
    if (cells.len(), trials.len()) != (begin.cells, begin.trials) {
        return Err(lines.damaged(format!(
            "{} cells and {} trials are missing",
            begin.cells - cells.len(),
            begin.trials - trials.len()
        )));
    }
    // This also reads the end of the compressed stream, with its own checksum.
    if lines.next()?.is_some() {
        return Err(lines.damaged("comes after the last".to_owned()));
    }
    let Begin { header, status, stopped_because, printed, .. } = begin;
    // The order of the store.
    trials.sort_by_key(|t: &TrialRecord| (t.block, t.position));
    let run = Run { header, status, stopped_because, cells, trials };
    possible(&run).map_err(ExportError::Impossible)?;
    Ok(Exported { run, printed })
}

/// Parses the first line. Only format and version are read if the format is newer.
fn begin(text: &str) -> Result<Begin, ExportError> {
    #[derive(Deserialize)]
    struct Probe {
        begin: Version,
    }
    #[derive(Deserialize)]
    struct Version {
        format: u32,
        netdyno: String,
    }
    let foreign = |e: serde_json::Error| ExportError::Foreign(format!("line 1: {e}"));
    let Version { format, netdyno } = serde_json::from_str::<Probe>(text).map_err(foreign)?.begin;
    if format > FORMAT {
        return Err(ExportError::Newer { found: format, netdyno });
    }
    match serde_json::from_str(text) {
        Ok(Line::Begin(begin)) if begin.cells <= CELLS_MAX && begin.trials <= TRIALS_MAX => Ok(*begin),
        Ok(_) => Err(ExportError::Impossible(format!("more than {CELLS_MAX} cells or {TRIALS_MAX} trials"))),
        Err(e) => Err(ExportError::Damaged { line: 1, what: e.to_string() }),
    }
}

/// Lines within limits, and the hash of all lines before the last one.
struct Lines<R> {
    from: R,
    hash: Sha256,
    count: usize,
    bytes: u64,
    before: String,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<String>, ExportError> {
        let mut line = Vec::new();
        let read = (&mut self.from).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
        let read = match read {
            Ok(read) => read as u64,
            Err(e) => {
                return Err(match e.kind() {
                    ErrorKind::UnexpectedEof => ExportError::CutShort(self.count),
                    // Errors of the gzip decoder.
                    ErrorKind::InvalidInput | ErrorKind::InvalidData => self.damaged(e.to_string()),
                    _ => ExportError::Io(e),
                });
            }
        };
        self.bytes += read;
        if self.bytes > TEXT_BYTES_MAX {
            return Err(ExportError::TooLarge);
        }
        if read > LINE_BYTES_MAX {
            return Err(ExportError::LineTooLong { line: self.count + 1 });
        }
        if read == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err(ExportError::CutShort(self.count));
        }
        self.before = hex(&self.hash.clone().finalize());
        self.hash.update(&line);
        self.count += 1;
        line.pop();
        String::from_utf8(line).map(Some).map_err(|e| self.damaged(e.to_string()))
    }

    fn damaged(&self, what: String) -> ExportError {
        ExportError::Damaged { line: self.count.max(1), what }
    }
}

/// Checks what readers of a run rely on.
fn possible(run: &Run) -> Result<(), String> {
    let id = &run.header.id;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    // It is part of the name of a lock file.
    if id.is_empty() || id.len() > ID_BYTES_MAX || !id.bytes().all(plain) {
        return Err(format!("its id {id:?} does not consist of 1 to {ID_BYTES_MAX} of a-z, 0-9 and '-'"));
    }
    let workload = run.header.parsed_workload().map_err(|e| e.to_string())?;
    let plays = |cell: &&CellRecord| {
        cell.contenders.len() == workload.roles.len()
            && workload.roles.iter().all(|role| cell.contenders.contains_key(role))
    };
    if let Some(index) = run.cells.iter().position(|cell| !plays(&cell)) {
        return Err(format!("cell {index} does not have one contender for each role of {}", workload.name));
    }
    for (index, trial) in run.trials.iter().enumerate() {
        if trial.cell >= run.cells.len() {
            return Err(format!(
                "trial {index} belongs to cell {}, but there are {}",
                trial.cell,
                run.cells.len()
            ));
        }
        if trial.turns.as_ref().is_some_and(|turns| turns.count > TURNS_MAX) {
            return Err(format!("trial {index} has more than {TURNS_MAX} turns"));
        }
    }
    Ok(())
}
