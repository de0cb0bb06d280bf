//! RTCP packets, one file per type ([RFC 3550 section 6](https://www.rfc-editor.org/rfc/rfc3550#section-6),
//! [RFC 4585](https://www.rfc-editor.org/rfc/rfc4585), [RFC 5104](https://www.rfc-editor.org/rfc/rfc5104)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---+-+---------+---------------+-------------------------------+
//! |V=2|P|  count  |  packet type  |   length in words, less one   |
//! +---+-+---------+---------------+-------------------------------+
//! ```

mod app;
mod bye;
mod compound;
mod feedback;
mod fir;
mod nack;
mod pli;
mod report;
mod sdes;
mod writer;

pub use app::App;
pub use bye::Bye;
pub use compound::{Compound, Packets, Rule};
pub use feedback::Feedback;
pub use fir::{Fir, FirEntry};
pub use nack::{Nack, NackEntry};
pub use pli::Pli;
pub use report::{ReceiverReport, ReportBlock, ReportBlocks, SenderInfo, SenderReport};
pub use sdes::{Chunk, Chunks, Item, ItemKind, Items, Sdes};
pub use writer::CompoundWriter;

use crate::error::Malformed;

/// Length of the header of an RTCP packet.
const HEADER_BYTES: usize = 4;

/// The header and the body of an RTCP packet without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPacket<'a> {
    /// Count or format: the lower five bits of the first byte.
    pub count: u8,
    /// Packet type.
    pub kind: u8,
    /// The body: a multiple of four bytes, except after removal of padding.
    pub body: &'a [u8],
}

/// A validated RTCP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtcpPacket<'a> {
    /// Sender report.
    SenderReport(SenderReport<'a>),
    /// Receiver report.
    ReceiverReport(ReceiverReport<'a>),
    /// Source description.
    Sdes(Sdes<'a>),
    /// Goodbye.
    Bye(Bye<'a>),
    /// Application-defined packet.
    App(App<'a>),
    /// Generic NACK (RFC 4585 section 6.2.1).
    Nack(Nack<'a>),
    /// Picture loss indication (RFC 4585 section 6.3.1).
    Pli(Pli),
    /// Full intra request (RFC 5104 section 4.3.1).
    Fir(Fir<'a>),
    /// Other feedback.
    Feedback(Feedback<'a>),
    /// An unknown packet type, which is ignored (RFC 3550 section 6.1).
    Unknown(RawPacket<'a>),
}

impl<'a> RtcpPacket<'a> {
    /// Validates a packet. Takes one pass over SDES and constant time for other types.
    pub fn parse(raw: RawPacket<'a>) -> Result<Self, Malformed> {
        Ok(match raw.kind {
            SenderReport::KIND => Self::SenderReport(SenderReport::parse(raw)?),
            ReceiverReport::KIND => Self::ReceiverReport(ReceiverReport::parse(raw)?),
            Sdes::KIND => Self::Sdes(Sdes::parse(raw)?),
            Bye::KIND => Self::Bye(Bye::parse(raw)?),
            App::KIND => Self::App(App::parse(raw)?),
            Feedback::TRANSPORT | Feedback::PAYLOAD => {
                let feedback = Feedback::parse(raw)?;
                match (raw.kind, feedback.format) {
                    (Feedback::TRANSPORT, Nack::FORMAT) => Self::Nack(Nack::parse(feedback)?),
                    (Feedback::PAYLOAD, Pli::FORMAT) => Self::Pli(Pli::parse(feedback)?),
                    (Feedback::PAYLOAD, Fir::FORMAT) => Self::Fir(Fir::parse(feedback)?),
                    _ => Self::Feedback(feedback),
                }
            }
            _ => Self::Unknown(raw),
        })
    }
}

#[cfg(test)]
mod tests;
