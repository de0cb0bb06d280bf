//! Writing a frame into a buffer.

use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::error::WriteError;
use crate::esv::Esv;
use crate::limits::{EDT_BYTES_MAX, HEADER_BYTES, PROPERTIES_MAX};
use crate::tid::Tid;

/// The fields before a frame's properties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Chosen by the requester, and repeated in the answer.
    pub tid: Tid,
    /// The source object.
    pub seoj: Eoj,
    /// The destination object.
    pub deoj: Eoj,
    /// The service.
    pub esv: Esv,
}

/// Writes one frame, property by property. After each call the buffer holds a complete frame, except for the
/// second list of SetGet, which [`finish`](Self::finish) adds if it is missing.
///
/// ```
/// use netdyno_echonet_core::{Eoj, Epc, Esv, FrameWriter, Header, Tid};
///
/// let mut buffer = [0; 64];
/// let header = Header { tid: Tid(1), seoj: Eoj::CONTROLLER, deoj: Eoj([0x02, 0x91, 1]), esv: Esv::SetC };
/// let mut writer = FrameWriter::new(&mut buffer, header)?;
/// writer.property(Epc::OPERATION_STATUS, &[0x30])?;
/// let bytes = writer.finish()?;
/// assert_eq!(buffer[..bytes], [0x10, 0x81, 0, 1, 0x05, 0xFF, 1, 0x02, 0x91, 1, 0x61, 1, 0x80, 1, 0x30]);
/// # Ok::<(), netdyno_echonet_core::WriteError>(())
/// ```
#[derive(Debug)]
pub struct FrameWriter<'b> {
    buffer: &'b mut [u8],
    /// Bytes written.
    at: usize,
    /// The position of the OPC of the current list.
    opc_at: usize,
    esv: Esv,
}

impl<'b> FrameWriter<'b> {
    /// Starts a frame without properties.
    ///
    /// # Errors
    ///
    /// The buffer has fewer than 12 bytes.
    pub fn new(buffer: &'b mut [u8], header: Header) -> Result<Self, WriteError> {
        let room = buffer.len();
        let Some(start) = buffer.first_chunk_mut::<{ HEADER_BYTES + 1 }>() else {
            return Err(WriteError::NoRoom { room, needed: HEADER_BYTES + 1 });
        };
        let ([t0, t1], [s0, s1, s2], [d0, d1, d2]) =
            (header.tid.0.to_be_bytes(), header.seoj.0, header.deoj.0);
        *start = [0x10, 0x81, t0, t1, s0, s1, s2, d0, d1, d2, header.esv.code(), 0];
        Ok(Self { buffer, at: HEADER_BYTES + 1, opc_at: HEADER_BYTES, esv: header.esv })
    }

    /// The remaining bytes of the buffer.
    pub fn room(&self) -> usize {
        self.buffer.len() - self.at
    }

    /// The number of properties in the current list.
    pub fn count(&self) -> usize {
        usize::from(self.buffer[self.opc_at])
    }

    /// Adds a property. On an error the buffer is unchanged.
    ///
    /// # Errors
    ///
    /// The buffer is full, the list has 255 properties, or the value has more than 255 bytes.
    pub fn property(&mut self, epc: Epc, edt: &[u8]) -> Result<(), WriteError> {
        let too_long = WriteError::ValueTooLong { bytes: edt.len() };
        let pdc = u8::try_from(edt.len()).map_err(|_| too_long)?;
        debug_assert!(edt.len() <= EDT_BYTES_MAX);
        if self.count() == PROPERTIES_MAX {
            return Err(WriteError::TooManyProperties);
        }
        let (room, needed) = (self.room(), 2 + edt.len());
        let place =
            self.buffer.get_mut(self.at..self.at + needed).ok_or(WriteError::NoRoom { room, needed })?;
        place[0] = epc.0;
        place[1] = pdc;
        place[2..].copy_from_slice(edt);
        self.at += needed;
        self.buffer[self.opc_at] += 1;
        Ok(())
    }

    /// Starts the second list of SetGet and its answers: the properties to read.
    ///
    /// # Errors
    ///
    /// The buffer is full, the service has no second list, or it was already started.
    pub fn get_list(&mut self) -> Result<(), WriteError> {
        if !self.esv.has_get_list() || self.opc_at != HEADER_BYTES {
            return Err(WriteError::NoSecondList);
        }
        let room = self.room();
        *self.buffer.get_mut(self.at).ok_or(WriteError::NoRoom { room, needed: 1 })? = 0;
        self.opc_at = self.at;
        self.at += 1;
        Ok(())
    }

    /// Changes the service: an answer becomes a refusal when its last property could not be read. Both
    /// services must have the same number of lists.
    pub fn set_esv(&mut self, esv: Esv) {
        debug_assert_eq!(esv.has_get_list(), self.esv.has_get_list());
        self.esv = esv;
        self.buffer[HEADER_BYTES - 1] = esv.code();
    }

    /// The frame's length, bytes.
    ///
    /// # Errors
    ///
    /// The second list is missing, and an empty one does not fit.
    pub fn finish(mut self) -> Result<usize, WriteError> {
        if self.esv.has_get_list() && self.opc_at == HEADER_BYTES {
            self.get_list()?;
        }
        Ok(self.at)
    }
}
