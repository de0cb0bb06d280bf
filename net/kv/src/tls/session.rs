//! The TLS state of one client: decrypted input, and plaintext output that is encrypted at the end of the
//! iteration.

use std::io::{BufRead, Write};
use std::net::IpAddr;
use std::sync::Arc;

use netdyno_io::tcp::{BufferSizes, Key};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use crate::limits::{KEPT_CLEAR_BYTES, RECORD_BYTES};

/// Type of the first record that a TLS client sends.
const HANDSHAKE_RECORD: u8 = 22;

/// The error for a client that does not use TLS.
pub(super) const NOT_TLS: &[u8] =
    b"-ERR this port requires TLS: connect with TLS (redis-cli --tls) or use the plain port\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing has been received.
    New,
    Handshake,
    Open,
    /// Closed: further output is discarded.
    Over,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) key: Key,
    pub(super) phase: Phase,
    /// Close the connection after the handshake, when the error can be sent.
    pub(super) refused: bool,
    /// Queued for encryption at the end of the iteration.
    pub(super) dirty: bool,
    connection: Connection,
    input: Vec<u8>,
    /// Consumed bytes of `input`.
    start: usize,
    pub(super) output: Vec<u8>,
}

/// The client violated the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Broken {
    NotTls,
    Protocol(String),
}

impl Session {
    /// The server side of an accepted connection.
    pub(super) fn server(key: Key, config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        Ok(Self::new(key, Phase::New, ServerConnection::new(config)?.into()))
    }

    /// The client side of a connection to a primary, whose certificate must be valid for its address.
    pub(super) fn client(key: Key, config: Arc<ClientConfig>, peer: IpAddr) -> Result<Self, rustls::Error> {
        let connection = ClientConnection::new(config, ServerName::IpAddress(peer.into()))?;
        Ok(Self::new(key, Phase::Handshake, connection.into()))
    }

    fn new(key: Key, phase: Phase, mut connection: Connection) -> Self {
        connection.set_buffer_limit(Some(2 * RECORD_BYTES));
        let (input, output) = (Vec::new(), Vec::new());
        let (refused, dirty, start) = (false, false, 0);
        Self { key, phase, refused, dirty, connection, input, start, output }
    }

    /// Decrypted input.
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

    /// Adds the sizes of the plaintext buffers.
    pub(super) fn add_sizes(&self, sizes: &mut BufferSizes) {
        sizes.input += self.input().len();
        sizes.input_capacity += self.input.capacity();
        sizes.output += self.output.len();
        sizes.output_capacity += self.output.capacity();
    }

    /// Whether the handshake is incomplete.
    pub(super) fn is_young(&self) -> bool {
        matches!(self.phase, Phase::New | Phase::Handshake)
    }

    /// Processes all received bytes. Returns whether the client has sent close_notify.
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
            // rustls takes part of the bytes per call. The plaintext is drained after each call, so that its
            // buffer limit is never reached.
            self.connection.read_tls(&mut arrived).map_err(|error| Broken::Protocol(error.to_string()))?;
            let state =
                self.connection.process_new_packets().map_err(|error| Broken::Protocol(error.to_string()))?;
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

    /// Appends records that TLS itself has to send.
    pub(super) fn write_records(&mut self, into: &mut Vec<u8>) {
        while self.connection.wants_write() {
            // Writing to a vector cannot fail.
            if self.connection.write_tls(into).is_err() {
                return;
            }
        }
    }

    /// Encrypts pending output; does nothing before the end of the handshake.
    pub(super) fn encrypt(&mut self, into: &mut Vec<u8>) {
        if self.phase == Phase::Over {
            return empty(&mut self.output);
        }
        if self.is_young() {
            return;
        }
        let output = std::mem::take(&mut self.output);
        for part in output.chunks(RECORD_BYTES) {
            // The chunk is within the buffer limit, which is twice as large.
            if self.connection.writer().write_all(part).is_err() {
                return;
            }
            self.write_records(into);
        }
        self.output = output;
        empty(&mut self.output);
    }

    /// Encrypts pending output and appends close_notify.
    pub(super) fn end(&mut self, into: &mut Vec<u8>) {
        self.encrypt(into);
        self.connection.send_close_notify();
        self.write_records(into);
    }

    /// Discards all buffers and ignores further input and output.
    pub(super) fn is_over(&mut self) {
        self.phase = Phase::Over;
        self.start = 0;
        (self.input, self.output) = (Vec::new(), Vec::new());
    }
}

fn take_clear(connection: &mut Connection, into: &mut Vec<u8>) {
    let mut reader = connection.reader();
    while let Ok(part) = reader.fill_buf()
        && !part.is_empty()
    {
        let count = part.len();
        into.extend_from_slice(part);
        reader.consume(count);
    }
}

/// Clears a buffer, and releases it if it is larger than an idle client may keep.
fn empty(bytes: &mut Vec<u8>) {
    bytes.clear();
    if bytes.capacity() > KEPT_CLEAR_BYTES {
        *bytes = Vec::new();
    }
}
