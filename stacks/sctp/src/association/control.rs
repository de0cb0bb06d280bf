//! What waits to be sent besides data: packets that stand alone, and control chunks. Everything that a peer can put
//! here has a bound; what is beyond it is not answered.

use std::collections::VecDeque;

use crate::wire::packet::CHUNK_HEADER_BYTES;
use crate::wire::{
    Cause, HEADER_BYTES, Header, Heartbeat, OperationError, PacketWriter, ShutdownAck, Unrecognized,
};

/// Packets that stand alone and wait: INIT ACK, ABORT, SHUTDOWN COMPLETE.
const ALONE_MAX: usize = 4;
/// Answers to HEARTBEATs that wait.
const ECHOES_MAX: usize = 8;
/// The longest info of a HEARTBEAT that is echoed.
const ECHO_BYTES_MAX: usize = 256;
/// ERROR chunks that wait.
const ERRORS_MAX: usize = 8;
/// The longest ERROR chunk, so that every packet has room for one.
const ERROR_BYTES_MAX: usize = 256;
/// The longest packet that stands alone. Every path takes it: `Config::validate` allows no shorter packets.
const ALONE_BYTES_MAX: usize = 508;

/// Chunks and packets that wait.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// INIT, or COOKIE ECHO.
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
    /// Nothing at all waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        let flags = self.set_up | self.cookie_ack | self.shutdown | self.shutdown_ack;
        !flags && self.alone.is_empty() && self.echoes.is_empty() && self.errors.is_empty()
    }

    /// Forgets everything but the packets that stand alone: these say how it ended.
    pub(super) fn clear_chunks(&mut self) {
        *self = Self { alone: std::mem::take(&mut self.alone), ..Self::default() };
    }

    /// A packet of one chunk, with a header of its own, and a checksum in any case.
    pub(super) fn push_alone(&mut self, header: Header, write: impl FnOnce(&mut PacketWriter<'_>) -> bool) {
        let mut out = [0; ALONE_BYTES_MAX];
        let mut packet = PacketWriter::new(&mut out, header);
        if self.alone.len() < ALONE_MAX && write(&mut packet) {
            let length = packet.finish(false);
            self.alone.push_back(out[..length].into());
        }
    }

    /// The next packet that stands alone, if it fits. One that does not is lost, as packets are.
    pub(super) fn pop_alone(&mut self, out: &mut [u8]) -> Option<usize> {
        let packet = self.alone.pop_front()?;
        out.get_mut(..packet.len())?.copy_from_slice(&packet);
        Some(packet.len())
    }

    /// Answers a HEARTBEAT.
    pub(super) fn push_echo(&mut self, info: &[u8]) {
        if self.echoes.len() < ECHOES_MAX && info.len() <= ECHO_BYTES_MAX {
            self.echoes.push_back(info.into());
        }
    }

    /// Reports something to the peer.
    pub(super) fn push_error(&mut self, cause: Cause<'_>) {
        self.push_error_chunk(|packet| OperationError::write(packet, [cause]));
    }

    /// Reports parameters of an INIT ACK.
    pub(super) fn push_unrecognized(&mut self, unrecognized: Unrecognized<'_>) {
        self.push_error_chunk(|packet| OperationError::write_unrecognized(packet, unrecognized));
    }

    /// Writes ERRORs, HEARTBEAT ACKs and SHUTDOWN ACK, as far as they wait and fit.
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

    /// Writes the ERROR chunks that wait and fit.
    pub(super) fn write_errors(&mut self, packet: &mut PacketWriter<'_>) {
        while let Some(value) = self.errors.front()
            && value.len() + CHUNK_HEADER_BYTES <= packet.room()
        {
            packet.chunk(OperationError::KIND, 0, value.len(), |place| place.copy_from_slice(value));
            self.errors.pop_front();
        }
    }

    fn push_error_chunk(&mut self, write: impl FnOnce(&mut PacketWriter<'_>) -> bool) {
        // Only the chunk in it is kept: the header does not matter.
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
