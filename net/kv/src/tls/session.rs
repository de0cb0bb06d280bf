//! One client's TLS: what arrived, in clear, and what is to be sent to it, in clear until the turn ends.

use std::io::{BufRead, Write};
use std::sync::Arc;

use netdyno_io::tcp::Key;
use rustls::{ServerConfig, ServerConnection};

use crate::limits::{ENCRYPTED_AT_ONCE, KEPT_CLEAR_BYTES};

/// The type of the first record that a client sends: a handshake.
const HANDSHAKE_RECORD: u8 = 22;

/// What somebody is told who speaks no TLS.
pub(super) const NOT_TLS: &[u8] =
    b"-ERR this port speaks TLS: connect with it (redis-cli --tls), or to the port without\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing has arrived yet.
    New,
    Handshake,
    Open,
    /// Over: what is written for it leads nowhere.
    Over,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) key: Key,
    pub(super) phase: Phase,
    /// To be closed, once it can be told why.
    pub(super) refused: bool,
    /// To be encrypted at the end of the turn.
    pub(super) dirty: bool,
    connection: ServerConnection,
    input: Vec<u8>,
    /// Bytes of `input` that are consumed.
    start: usize,
    pub(super) output: Vec<u8>,
}

/// It speaks no TLS, or wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    NotTls,
    Protocol,
}

impl Session {
    pub(super) fn new(key: Key, config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let mut connection = ServerConnection::new(config)?;
        connection.set_buffer_limit(Some(2 * ENCRYPTED_AT_ONCE));
        let (input, output) = (Vec::new(), Vec::new());
        let (phase, refused, dirty, start) = (Phase::New, false, false, 0);
        Ok(Self { key, phase, refused, dirty, connection, input, start, output })
    }

    /// What arrived, in clear.
    pub(super) fn input(&self) -> &[u8] {
        &self.input[self.start..]
    }

    pub(super) fn buffers(&mut self) -> (&[u8], &mut Vec<u8>) {
        (&self.input[self.start..], &mut self.output)
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start += count.min(self.input.len() - self.start);
        if self.start == self.input.len() {
            self.start = 0;
            empty(&mut self.input);
        }
    }

    /// Whether the handshake is still to be made.
    pub(super) fn is_young(&self) -> bool {
        matches!(self.phase, Phase::New | Phase::Handshake)
    }

    /// Takes what arrived: all of it. Gives whether the client says that it sends no more.
    pub(super) fn receive(&mut self, mut arrived: &[u8]) -> Result<bool, Broken> {
        if self.phase == Phase::New
            && let Some(first) = arrived.first()
        {
            if *first != HANDSHAKE_RECORD {
                return Err(Broken::NotTls);
            }
            self.phase = Phase::Handshake;
        }
        if self.start > self.input.len() / 2 {
            self.input.drain(..self.start);
            self.start = 0;
        }
        let mut ended = false;
        while !arrived.is_empty() && !ended {
            // It takes a part each time; what is in clear is taken at once, so that its own bound is never met.
            self.connection.read_tls(&mut arrived).map_err(|_| Broken::Protocol)?;
            let state = self.connection.process_new_packets().map_err(|_| Broken::Protocol)?;
            ended = state.peer_has_closed();
            if state.plaintext_bytes_to_read() > 0 {
                take_clear(&mut self.connection, &mut self.input);
            }
        }
        if self.phase == Phase::Handshake && !self.connection.is_handshaking() {
            self.phase = Phase::Open;
        }
        Ok(ended)
    }

    /// Appends what TLS itself has to say.
    pub(super) fn write_records(&mut self, into: &mut Vec<u8>) {
        while self.connection.wants_write() {
            // A vector takes everything.
            if self.connection.write_tls(into).is_err() {
                return;
            }
        }
    }

    /// Appends what was written in clear, encrypted; not before the handshake is made.
    pub(super) fn encrypt(&mut self, into: &mut Vec<u8>) {
        if self.phase == Phase::Over {
            return empty(&mut self.output);
        }
        if self.is_young() {
            return;
        }
        let output = std::mem::take(&mut self.output);
        for part in output.chunks(ENCRYPTED_AT_ONCE) {
            // Within its bound, which is twice as much.
            if self.connection.writer().write_all(part).is_err() {
                return;
            }
            self.write_records(into);
        }
        self.output = output;
        empty(&mut self.output);
    }

    /// Appends all that is to be said before the end, and that it is the end.
    pub(super) fn end(&mut self, into: &mut Vec<u8>) {
        self.encrypt(into);
        self.connection.send_close_notify();
        self.write_records(into);
    }

    /// From now on nothing is taken from it or said to it.
    pub(super) fn is_over(&mut self) {
        self.phase = Phase::Over;
        self.start = 0;
        (self.input, self.output) = (Vec::new(), Vec::new());
    }
}

fn take_clear(connection: &mut ServerConnection, into: &mut Vec<u8>) {
    let mut reader = connection.reader();
    while let Ok(part) = reader.fill_buf()
        && !part.is_empty()
    {
        let count = part.len();
        into.extend_from_slice(part);
        reader.consume(count);
    }
}

/// Empties it, and keeps no more room than many clients may have.
fn empty(bytes: &mut Vec<u8>) {
    bytes.clear();
    if bytes.capacity() > KEPT_CLEAR_BYTES {
        *bytes = Vec::new();
    }
}
