//! Reads a snapshot in chunks of any size.

use crc::{Digest, Table};

use super::error::{RdbError, RdbFault, StepError};
use super::text::Cursor;
use super::{CRC64, Header, Sink, Usage, VERSION_MAX, ValueReader, opcode};

/// The trailer of a DUMP payload: version and checksum.
const TRAILER_BYTES: usize = 10;
/// Versions without a checksum.
const UNCHECKED_VERSION_MAX: u16 = 4;
/// Bytes of a key that errors quote.
const NAMED_BYTES: usize = 64;

#[derive(Debug)]
enum State {
    Start,
    Opcode,
    /// A string to skip, and the number of further ones.
    Skip(u8),
    Key(ValueReader),
    Value(ValueReader),
    Checksum,
    End,
}

/// Reads a snapshot.
pub(crate) struct Reader {
    state: State,
    version: u16,
    digest: Digest<'static, u64, Table<16>>,
    /// Bytes consumed.
    at: u64,
    /// Input that is not a complete step yet.
    rest: Vec<u8>,
    /// Attributes of the next key.
    db: u64,
    deadline: Option<u64>,
    usage: Usage,
    /// The key whose value is being read, for errors.
    key: Option<String>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("at", &self.at).field("state", &self.state).finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Start,
            version: 0,
            digest: CRC64.digest(),
            at: 0,
            rest: Vec::new(),
            db: 0,
            deadline: None,
            usage: Usage::Unknown,
            key: None,
        }
    }

    /// Whether the snapshot is complete and its checksum is correct.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::End)
    }

    /// Reads a chunk. Returns the number of bytes that belong to the snapshot, which is smaller than the
    /// input only at its end.
    pub(crate) fn feed(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<usize, RdbError> {
        if self.rest.is_empty() {
            let done = self.run(input, sink)?;
            if self.is_done() {
                return Ok(done);
            }
            self.rest.extend_from_slice(&input[done..]);
            return Ok(input.len());
        }
        let before = self.rest.len();
        let mut rest = std::mem::take(&mut self.rest);
        rest.extend_from_slice(input);
        let done = self.run(&rest, sink)?;
        if self.is_done() {
            // The retained bytes were not a complete step, so the end is in the new input.
            return Ok(done.saturating_sub(before));
        }
        rest.drain(..done);
        self.rest = rest;
        Ok(input.len())
    }

    /// The error for input that ends early.
    pub(crate) fn cut_off(&self) -> RdbError {
        self.error(RdbFault::CutOff)
    }

    fn run(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<usize, RdbError> {
        let mut at = 0;
        while !self.is_done() {
            let mut cursor = Cursor::new(&input[at..]);
            match self.step(&mut cursor, sink) {
                Ok(()) => {}
                Err(StepError::Partial) => break,
                Err(StepError::Fault(fault)) => return Err(self.error(fault)),
            }
            let done = &input[at..at + cursor.at];
            if !self.is_done() {
                self.digest.update(done);
            }
            at += done.len();
            self.at += done.len() as u64;
        }
        Ok(at)
    }

    /// One step; without enough bytes, nothing changes.
    fn step(&mut self, cursor: &mut Cursor<'_>, sink: &mut impl Sink) -> Result<(), StepError> {
        match &mut self.state {
            State::Start => {
                self.version = version(cursor.array()?)?;
                self.state = State::Opcode;
            }
            State::Opcode => self.opcode(cursor)?,
            State::Skip(more) => {
                cursor.string()?;
                let left = more.checked_sub(1);
                self.state = left.map_or(State::Opcode, State::Skip);
            }
            State::Key(_) => self.key(cursor, sink)?,
            State::Value(value) => {
                if value.step(cursor, sink)? {
                    sink.end()?;
                    self.key = None;
                    self.state = State::Opcode;
                }
            }
            State::Checksum => {
                let says = u64::from_le_bytes(cursor.array()?);
                // Zero means that checksums were disabled.
                if says != 0 && says != self.digest.clone().finalize() {
                    return Err(RdbFault::Checksum.into());
                }
                self.state = State::End;
            }
            State::End => {}
        }
        Ok(())
    }

    fn opcode(&mut self, cursor: &mut Cursor<'_>) -> Result<(), StepError> {
        match cursor.byte()? {
            opcode::EXPIRES_MS => self.deadline = Some(deadline(i64::from_le_bytes(cursor.array()?))),
            opcode::EXPIRES_S => {
                self.deadline = Some(deadline(i64::from(i32::from_le_bytes(cursor.array()?)) * 1000));
            }
            opcode::IDLE => self.usage = Usage::Idle(cursor.length()?),
            opcode::USES => self.usage = Usage::Uses(cursor.byte()?),
            opcode::SELECT => self.db = cursor.length()?,
            // Number of keys; a hint that is not used.
            opcode::RESIZE => {
                cursor.length()?;
                cursor.length()?;
            }
            opcode::AUX => self.state = State::Skip(1),
            opcode::FUNCTION => self.state = State::Skip(0),
            code @ opcode::MODULE => {
                return Err(RdbFault::Unsupported("auxiliary data of a module", code).into());
            }
            opcode::END if self.version <= UNCHECKED_VERSION_MAX => self.state = State::End,
            opcode::END => self.state = State::Checksum,
            code => match ValueReader::new(code) {
                Ok(value) => self.state = State::Key(value),
                // Lets the error name the key.
                Err(fault) => {
                    self.key = Some(name(&cursor.string()?));
                    return Err(fault.into());
                }
            },
        }
        Ok(())
    }

    fn key(&mut self, cursor: &mut Cursor<'_>, sink: &mut impl Sink) -> Result<(), StepError> {
        let key = cursor.string()?.into_owned();
        let State::Key(value) = std::mem::replace(&mut self.state, State::Opcode) else { return Ok(()) };
        self.key = Some(name(&key));
        let db = usize::try_from(self.db).map_err(|_| RdbFault::Database(self.db, 0))?;
        let (deadline, usage) = (self.deadline.take(), std::mem::take(&mut self.usage));
        sink.begin(Header { db, key, kind: value.kind(), deadline, usage })?;
        self.state = State::Value(value);
        Ok(())
    }

    fn error(&self, fault: RdbFault) -> RdbError {
        RdbError { at: self.at, key: self.key.clone(), fault }
    }
}

/// `REDIS` and the version in four digits.
fn version(magic: [u8; 9]) -> Result<u16, RdbFault> {
    let digits = magic.strip_prefix(b"REDIS").and_then(|digits| std::str::from_utf8(digits).ok());
    let version = digits.filter(|d| d.bytes().all(|b| b.is_ascii_digit())).and_then(|d| d.parse().ok());
    match version.ok_or(RdbFault::NotRdb)? {
        version @ 1..=VERSION_MAX => Ok(version),
        version => Err(RdbFault::Version(version)),
    }
}

/// Times before 1970 have passed.
fn deadline(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

fn name(key: &[u8]) -> String {
    String::from_utf8_lossy(&key[..key.len().min(NAMED_BYTES)]).into_owned()
}

/// The value of a DUMP payload, if its version is known and its checksum is correct.
pub(crate) fn check_payload(payload: &[u8]) -> Option<&[u8]> {
    let (value, trailer) = payload.split_at_checked(payload.len().checked_sub(TRAILER_BYTES)?)?;
    let version = u16::from_le_bytes([trailer[0], trailer[1]]);
    let (checked, says) = payload.split_at_checked(payload.len() - size_of::<u64>())?;
    let says = u64::from_le_bytes(says.try_into().ok()?);
    let right = says == 0 || says == CRC64.checksum(checked);
    (version <= VERSION_MAX && right).then_some(value)
}

impl ValueReader {
    /// Reads a value with its type; further bytes are an error.
    pub(crate) fn read_all(value: &[u8], sink: &mut impl Sink) -> Result<(), RdbFault> {
        let (code, rest) = value.split_first().ok_or(RdbFault::CutOff)?;
        let mut reader = Self::new(*code)?;
        sink.begin(Header {
            db: 0,
            key: Vec::new(),
            kind: reader.kind(),
            deadline: None,
            usage: Usage::Unknown,
        })?;
        let mut cursor = Cursor::new(rest);
        loop {
            match reader.step(&mut cursor, sink) {
                Ok(true) => break,
                Ok(false) => {}
                Err(StepError::Partial) => return Err(RdbFault::CutOff),
                Err(StepError::Fault(fault)) => return Err(fault),
            }
        }
        if cursor.at != rest.len() {
            return Err(RdbFault::Damaged("trailing data after the value"));
        }
        sink.end()
    }
}
