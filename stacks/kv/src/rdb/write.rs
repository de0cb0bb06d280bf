//! Writes snapshots in parts, and payloads of DUMP.

use crc::{Digest, Table};

use super::lzf::Compressor;
use super::text::{write_length, write_string};
use super::{CRC64, Part, Usage, VERSION, ValueKind, opcode};

/// Writes a snapshot. Its output must be stored in order.
pub(crate) struct Writer {
    digest: Digest<'static, u64, Table<16>>,
    values: ValueWriter,
    db: Option<usize>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("db", &self.db).finish_non_exhaustive()
    }
}

/// Writes values.
#[derive(Debug, Default)]
pub(crate) struct ValueWriter {
    compressor: Option<Compressor>,
}

/// The attributes of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyAttributes {
    pub(crate) db: usize,
    pub(crate) deadline: Option<u64>,
    pub(crate) usage: Usage,
}

impl Writer {
    pub(crate) fn new(compresses: bool) -> Self {
        Self { digest: CRC64.digest(), values: ValueWriter::new(compresses), db: None }
    }

    /// Writes the header, with auxiliary fields.
    pub(crate) fn begin(&mut self, about: &[(&str, &str)], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(format!("REDIS{VERSION:04}").as_bytes());
        for (name, value) in about {
            out.push(opcode::AUX);
            write_string(name.as_bytes(), None, out);
            write_string(value.as_bytes(), None, out);
        }
        self.digest.update(&out[start..]);
    }

    /// Starts a database, with its numbers of keys and of deadlines.
    pub(crate) fn database(&mut self, db: usize, keys: usize, timed: usize, out: &mut Vec<u8>) {
        let start = out.len();
        self.select(db, out);
        out.push(opcode::RESIZE);
        write_length(keys as u64, out);
        write_length(timed as u64, out);
        self.digest.update(&out[start..]);
    }

    /// Writes a key; `value` writes its value.
    pub(crate) fn entry(
        &mut self,
        about: KeyAttributes,
        key: &[u8],
        kind: ValueKind,
        out: &mut Vec<u8>,
        value: impl FnOnce(&mut ValueWriter, &mut Vec<u8>),
    ) {
        let start = out.len();
        self.select(about.db, out);
        if let Some(at) = about.deadline {
            out.push(opcode::EXPIRES_MS);
            out.extend(at.to_le_bytes());
        }
        match about.usage {
            Usage::Unknown => {}
            Usage::Idle(seconds) => {
                out.push(opcode::IDLE);
                write_length(seconds, out);
            }
            Usage::Uses(uses) => out.extend([opcode::USES, uses]),
        }
        out.push(code(kind));
        write_string(key, None, out);
        value(&mut self.values, out);
        self.digest.update(&out[start..]);
    }

    /// Writes the end with the checksum.
    pub(crate) fn end(mut self, out: &mut Vec<u8>) {
        out.push(opcode::END);
        self.digest.update(&[opcode::END]);
        out.extend(self.digest.finalize().to_le_bytes());
    }

    fn select(&mut self, db: usize, out: &mut Vec<u8>) {
        if self.db != Some(db) {
            self.db = Some(db);
            out.push(opcode::SELECT);
            write_length(db as u64, out);
        }
    }
}

impl ValueWriter {
    pub(crate) fn new(compresses: bool) -> Self {
        Self { compressor: compresses.then(Compressor::default) }
    }

    /// Writes the number of elements; not used for strings.
    pub(crate) fn count(&mut self, count: usize, out: &mut Vec<u8>) {
        write_length(count as u64, out);
    }

    pub(crate) fn part(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Element(text) => write_string(text, self.compressor.as_mut(), out),
            Part::Field(field, value) => {
                write_string(field, self.compressor.as_mut(), out);
                write_string(value, self.compressor.as_mut(), out);
            }
            Part::Scored(member, score) => {
                write_string(member, self.compressor.as_mut(), out);
                out.extend(score.to_le_bytes());
            }
        }
    }
}

/// The type code of the plain encoding.
fn code(kind: ValueKind) -> u8 {
    match kind {
        ValueKind::String => 0,
        ValueKind::List => 1,
        ValueKind::Set => 2,
        ValueKind::Hash => 4,
        ValueKind::Zset => 5,
    }
}

/// The DUMP payload of a value.
pub(crate) fn write_payload(kind: ValueKind, value: impl FnOnce(&mut ValueWriter, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![code(kind)];
    value(&mut ValueWriter::new(true), &mut out);
    out.extend(VERSION.to_le_bytes());
    out.extend(CRC64.checksum(&out).to_le_bytes());
    out
}
