//! Writes RTCP packets to a datagram.

use super::{App, Bye, Feedback, Fir, FirEntry, HEADER_BYTES, Item, Nack, Pli};
use super::{ReceiverReport, ReportBlock, Sdes, SenderInfo, SenderReport, bye, fir, nack, sdes};
use crate::bytes::Cursor;
use crate::limits::MAX_REPORT_BLOCKS;
use crate::types::{Sequence, Ssrc};

/// A writer of RTCP packets. A packet that does not fit is not written; the method then returns false.
///
/// A compound packet starts with a report and contains the CNAME (RFC 3550 section 6.1). The caller must ensure this.
#[derive(Debug)]
pub struct CompoundWriter<'a> {
    out: &'a mut [u8],
    length: usize,
}

impl<'a> CompoundWriter<'a> {
    /// Creates a writer to the start of a buffer.
    pub fn new(out: &'a mut [u8]) -> Self {
        Self { out, length: 0 }
    }

    /// Writes a sender report with at most 31 blocks. Further blocks need receiver reports after it.
    pub fn sender_report(&mut self, info: &SenderInfo, blocks: &[ReportBlock]) -> bool {
        self.packet(SenderReport::KIND, |out| {
            info.write(out)?;
            write_blocks(blocks, out)
        })
    }

    /// Writes a receiver report with at most 31 blocks.
    pub fn receiver_report(&mut self, ssrc: Ssrc, blocks: &[ReportBlock]) -> bool {
        self.packet(ReceiverReport::KIND, |out| {
            out.u32(ssrc.0)?;
            write_blocks(blocks, out)
        })
    }

    /// Writes a source description with at most 31 sources and items of at most 255 bytes.
    pub fn sdes(&mut self, chunks: &[(Ssrc, &[Item<'_>])]) -> bool {
        self.packet(Sdes::KIND, |out| sdes::write(chunks, out))
    }

    /// Writes a BYE with at most 31 sources and a reason of at most 255 bytes.
    pub fn bye(&mut self, sources: &[Ssrc], reason: Option<&[u8]>) -> bool {
        self.packet(Bye::KIND, |out| bye::write(sources, reason, out))
    }

    /// Writes an application-defined packet with a multiple of four bytes and a subtype of at most 31.
    pub fn app(&mut self, app: &App<'_>) -> bool {
        self.packet(App::KIND, |out| app.write(out))
    }

    /// Writes a NACK for at least one sequence number, in ascending order.
    pub fn nack(&mut self, sender: Ssrc, media: Ssrc, missing: impl IntoIterator<Item = Sequence>) -> bool {
        self.feedback(Feedback::TRANSPORT, Nack::FORMAT, sender, media, |out| nack::write(missing, out))
    }

    /// Writes a picture loss indication.
    pub fn pli(&mut self, pli: Pli) -> bool {
        self.feedback(Feedback::PAYLOAD, Pli::FORMAT, pli.sender, pli.media, |_| Some(()))
    }

    /// Writes a full intra request with at least one entry. The media source is 0 (RFC 5104 section 4.3.1.2).
    pub fn fir(&mut self, sender: Ssrc, entries: &[FirEntry]) -> bool {
        self.feedback(Feedback::PAYLOAD, Fir::FORMAT, sender, Ssrc(0), |out| fir::write(entries, out))
    }

    /// Writes other feedback.
    pub fn other_feedback(&mut self, feedback: &Feedback<'_>) -> bool {
        let Feedback { kind, format, sender, media, fci } = *feedback;
        format <= 31 && self.feedback(kind, format, sender, media, |out| out.bytes(fci))
    }

    /// Length of the datagram.
    pub fn finish(self) -> usize {
        self.length
    }

    fn feedback(
        &mut self,
        kind: u8,
        format: u8,
        sender: Ssrc,
        media: Ssrc,
        fci: impl FnOnce(&mut Cursor<'_>) -> Option<()>,
    ) -> bool {
        self.packet(kind, |out| {
            out.u32(sender.0)?;
            out.u32(media.0)?;
            fci(out)?;
            Some(format)
        })
    }

    /// Writes a packet with the body written by `fill`, which returns the count or format.
    fn packet(&mut self, kind: u8, fill: impl FnOnce(&mut Cursor<'_>) -> Option<u8>) -> bool {
        let write = || {
            let (head, body) = self.out.get_mut(self.length..)?.split_first_chunk_mut::<HEADER_BYTES>()?;
            let mut body = Cursor::new(body);
            let count = fill(&mut body)?;
            let length = body.length();
            let words = u16::try_from(length / 4).ok().filter(|_| length.is_multiple_of(4))?;
            *head = [0x80 | count, kind, (words >> 8) as u8, words as u8];
            Some(HEADER_BYTES + length)
        };
        let Some(length) = write() else { return false };
        self.length += length;
        true
    }
}

/// Writes report blocks and returns their number.
fn write_blocks(blocks: &[ReportBlock], out: &mut Cursor<'_>) -> Option<u8> {
    if blocks.len() > MAX_REPORT_BLOCKS {
        return None;
    }
    blocks.iter().try_for_each(|block| block.write(out))?;
    Some(blocks.len() as u8)
}
