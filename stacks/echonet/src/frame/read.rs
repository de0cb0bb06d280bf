//! Parsing of frames (ECHONET Lite Specification, Part 2, chapter 3):
//!
//! ```text
//!  1     1     2    3     3     1    1    1    1    PDC
//! +-----+-----+----+-----+-----+----+----+----+----+-----+
//! |EHD1 |EHD2 |TID |SEOJ |DEOJ |ESV |OPC |EPC |PDC |EDT  | ...
//! |0x10 |0x81 |    |     |     |    |    |    |    |     |
//! +-----+-----+----+-----+-----+----+----+----+----+-----+
//!                                        `- OPC times ---'
//! ```
//!
//! In SetGet and its answers a second OPC with its properties follows: first the properties to write, then
//! those to read.

use crate::eoj::Eoj;
use crate::error::FrameError;
use crate::esv::Esv;
use crate::frame::properties::Properties;
use crate::tid::Tid;

/// A frame in the specified message format, parsed without a copy.
///
/// ```
/// use netdyno_echonet_core::{Eoj, Epc, Esv, Frame};
///
/// let datagram = [0x10, 0x81, 0, 1, 0x05, 0xFF, 1, 0x02, 0x91, 1, 0x62, 1, 0x80, 0];
/// let frame = Frame::parse(&datagram)?;
/// assert_eq!((frame.deoj, frame.esv), (Eoj([0x02, 0x91, 1]), Esv::Get));
/// assert_eq!(frame.properties.iter().map(|property| property.epc).collect::<Vec<_>>(), [Epc(0x80)]);
/// # Ok::<(), netdyno_echonet_core::FrameError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Frame<'a> {
    /// Chosen by the requester.
    pub tid: Tid,
    /// The source object.
    pub seoj: Eoj,
    /// The destination object.
    pub deoj: Eoj,
    /// The service.
    pub esv: Esv,
    /// The properties; in SetGet and its answers those to write.
    pub properties: Properties<'a>,
    /// The second list, only in SetGet and its answers: the properties to read.
    pub get: Properties<'a>,
    /// Bytes after the frame's end, which are ignored. Some nodes pad their datagrams.
    pub trailing_bytes: usize,
}

impl<'a> Frame<'a> {
    /// Parses a datagram and checks all its lengths, in linear time. Lists without properties are accepted;
    /// the receiver decides whether they make sense.
    ///
    /// # Errors
    ///
    /// The frame is truncated, or has another protocol or format or an unknown service. Discard it.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, FrameError> {
        match datagram {
            [0x10, 0x81, ..] => {}
            [0x10, 0x82, ..] => return Err(FrameError::ArbitraryFormat),
            [0x10, other, ..] => return Err(FrameError::Format(*other)),
            [0x10] | [] => return Err(FrameError::Truncated("header")),
            [other, ..] => return Err(FrameError::Protocol(*other)),
        }
        let [_, _, tid0, tid1, s0, s1, s2, d0, d1, d2, code, opc, rest @ ..] = datagram else {
            return Err(FrameError::Truncated("header"));
        };
        let esv = Esv::from_code(*code).ok_or(FrameError::UnknownEsv(*code))?;
        let (properties, mut rest) = Properties::split(*opc, rest)?;
        let mut get = Properties::default();
        if esv.has_get_list() {
            let [opc, second @ ..] = rest else { return Err(FrameError::Truncated("second list")) };
            (get, rest) = Properties::split(*opc, second)?;
        }
        Ok(Self {
            tid: Tid(u16::from_be_bytes([*tid0, *tid1])),
            seoj: Eoj([*s0, *s1, *s2]),
            deoj: Eoj([*d0, *d1, *d2]),
            esv,
            properties,
            get,
            trailing_bytes: rest.len(),
        })
    }
}
