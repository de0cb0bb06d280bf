//! Pending output besides data: stand-alone packets and control chunks. Everything that a peer can cause to
//! be queued here is bounded; what exceeds a bound is not answered.

use std::collections::VecDeque;

use crate::wire::packet::CHUNK_HEADER_BYTES;
use crate::wire::{
    Cause, HEADER_BYTES, Header, Heartbeat, OperationError, PacketWriter, ShutdownAck, Unrecognized,
};

/// Most pending stand-alone packets: INIT ACK, ABORT, SHUTDOWN COMPLETE.
const ALONE_MAX: usize = 4;
/// Most pending HEARTBEAT ACKs.
const ECHOES_MAX: usize = 8;
/// Longest HEARTBEAT info that is echoed.
const ECHO_BYTES_MAX: usize = 256;
/// Most pending ERROR chunks.
const ERRORS_MAX: usize = 8;
/// Longest ERROR chunk, so that every packet has room for one.
const ERROR_BYTES_MAX: usize = 256;
/// Longest stand-alone packet. It fits every path: `Config::validate` allows no smaller packet size.
const ALONE_BYTES_MAX: usize = 508;

/// Pending chunks and packets.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// INIT or COOKIE ECHO.
    pub(super) set_up: bool,
    /// COOKIE ACK.
    pub(super) cookie_ack: bool,
    /// SHUTDOWN.
    pub(super) shutdown: bool,
    /// SHUTDOWN ACK.
    pub(super) shutdown_ack: bool,
    alone: VecDeque<Box<[u8]>>,
    echoes: VecDeque<Box<[u8]>>,
    /// Values of ERROR chunks.
    errors: VecDeque<Box<[u8]>>,
}

impl Control {
    /// Whether nothing is pending.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        let flags = self.set_up | self.cookie_ack | self.shutdown | self.shutdown_ack;
        !flags && self.alone.is_empty() && self.echoes.is_empty() && self.errors.is_empty()
    }

    /// Drops everything except the stand-alone packets, which report the end of the association.
    pub(super) fn clear_chunks(&mut self) {
        *self = Self { alone: std::mem::take(&mut self.alone), ..Self::default() };
    }

    /// Queues a packet of one chunk with its own header, always with a checksum.
    pub(super) fn push_alone(&mut self, header: Header, write: impl FnOnce(&mut PacketWriter<'_>) -> bool) {
        let mut out = [0; ALONE_BYTES_MAX];
        let mut packet = PacketWriter::new(&mut out, header);
        if self.alone.len() < ALONE_MAX && write(&mut packet) {
            let length = packet.finish(false);
            self.alone.push_back(out[..length].into());
        }
    }

    /// Writes the next stand-alone packet if it fits; otherwise drops it.
    pub(super) fn pop_alone(&mut self, out: &mut [u8]) -> Option<usize> {
        let packet = self.alone.pop_front()?;
        out.get_mut(..packet.len())?.copy_from_slice(&packet);
        Some(packet.len())
    }

    /// Queues the answer to a HEARTBEAT.
    pub(super) fn push_echo(&mut self, info: &[u8]) {
        if self.echoes.len() < ECHOES_MAX && info.len() <= ECHO_BYTES_MAX {
            self.echoes.push_back(info.into());
        }
    }

    /// Queues an ERROR for the peer.
    pub(super) fn push_error(&mut self, cause: Cause<'_>) {
        self.push_error_chunk(|packet| OperationError::write(packet, [cause]));
    }

    /// Queues a report of unrecognised INIT ACK parameters.
    pub(super) fn push_unrecognized(&mut self, unrecognized: Unrecognized<'_>) {
        self.push_error_chunk(|packet| OperationError::write_unrecognized(packet, unrecognized));
    }

    /// Writes pending ERRORs, HEARTBEAT ACKs and SHUTDOWN ACK as far as they fit.
    pub(super) fn write(&mut self, packet: &mut PacketWriter<'_>) {
        self.write_errors(packet);
        while let Some(info) = self.echoes.front()
            && (Heartbeat { info }).write_ack(packet)
        {
            self.echoes.pop_front();
        }
        if self.shutdown_ack && ShutdownAck.write(packet) {
            self.shutdown_ack = false;
        }
    }

    /// Writes pending ERROR chunks as far as they fit.
    pub(super) fn write_errors(&mut self, packet: &mut PacketWriter<'_>) {
        while let Some(value) = self.errors.front()
            && value.len() + CHUNK_HEADER_BYTES <= packet.room()
        {
            packet.chunk(OperationError::KIND, 0, value.len(), |place| place.copy_from_slice(value));
            self.errors.pop_front();
        }
    }

    fn push_error_chunk(&mut self, write: impl FnOnce(&mut PacketWriter<'_>) -> bool) {
        // Only the chunk is kept: the header does not matter.
        let header = Header { source_port: 0, destination_port: 0, verification_tag: 0 };
        let mut out = [0; HEADER_BYTES + ERROR_BYTES_MAX];
        let mut packet = PacketWriter::new(&mut out, header);
        if self.errors.len() >= ERRORS_MAX || !write(&mut packet) {
            return;
        }
        let length = packet.finish(true);
        if let Ok((_, mut chunks)) = Header::parse(&out[..length])
            && let Some(Ok(chunk)) = chunks.next()
        {
            self.errors.push_back(chunk.value.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::StreamId;
    use crate::wire::CookieAck;

    const HEADER: Header = Header { source_port: 1, destination_port: 2, verification_tag: 3 };

    #[test]
    fn what_waits_is_bounded() {
        let mut control = Control::default();
        for _ in 0..100 {
            control.push_alone(HEADER, |packet| CookieAck.write(packet));
            control.push_echo(&[7; ECHO_BYTES_MAX]);
            control.push_error(Cause::InvalidStream(StreamId(9)));
        }
        control.push_echo(&[7; ECHO_BYTES_MAX + 1]);
        let waiting = (control.alone.len(), control.echoes.len(), control.errors.len());
        assert_eq!(waiting, (ALONE_MAX, ECHOES_MAX, ERRORS_MAX));
    }

    #[test]
    fn everything_gets_out_in_packets_of_the_least_length() {
        let mut control = Control { shutdown_ack: true, ..Control::default() };
        for _ in 0..100 {
            control.push_alone(HEADER, |packet| CookieAck.write(packet));
            control.push_echo(&[7; ECHO_BYTES_MAX]);
            control.push_error(Cause::ProtocolViolation(&[1; 200]));
        }
        let mut out = [0; 508];
        for _ in 0..ALONE_MAX {
            assert_eq!(control.pop_alone(&mut out), Some(16));
        }
        for _ in 0..ECHOES_MAX + ERRORS_MAX {
            let mut packet = PacketWriter::new(&mut out, HEADER);
            control.write(&mut packet);
        }
        assert!(control.is_empty(), "{control:?}");
    }
}
