//! Writes RTCP packets one after the other into a datagram.

use super::{App, Bye, Feedback, Fir, FirEntry, HEADER_BYTES, Item, Nack, Pli};
use super::{ReceiverReport, ReportBlock, Sdes, SenderInfo, SenderReport, bye, fir, nack, sdes};
use crate::bytes::Cursor;
use crate::limits::MAX_REPORT_BLOCKS;
use crate::types::{Sequence, Ssrc};

/// A datagram of RTCP packets in the making. What does not fit is not written, and the method gives false.
///
/// A compound packet begins with a report, and has the CNAME (RFC 3550 section 6.1); that is the caller's part.
#[derive(Debug)]
pub struct CompoundWriter<'a> {
    out: &'a mut [u8],
    length: usize,
}

impl<'a> CompoundWriter<'a> {
    /// An empty datagram at the front of a buffer.
    pub fn new(out: &'a mut [u8]) -> Self {
        Self { out, length: 0 }
    }

    /// A sender report. At most 31 blocks: the rest goes into receiver reports after it.
    pub fn sender_report(&mut self, info: &SenderInfo, blocks: &[ReportBlock]) -> bool {
        self.packet(SenderReport::KIND, |out| {
            info.write(out)?;
            write_blocks(blocks, out)
        })
    }

    /// A receiver report of at most 31 blocks.
    pub fn receiver_report(&mut self, ssrc: Ssrc, blocks: &[ReportBlock]) -> bool {
        self.packet(ReceiverReport::KIND, |out| {
            out.u32(ssrc.0)?;
            write_blocks(blocks, out)
        })
    }

    /// A source description of at most 31 sources, each text of at most 255 bytes.
    pub fn sdes(&mut self, chunks: &[(Ssrc, &[Item<'_>])]) -> bool {
        self.packet(Sdes::KIND, |out| sdes::write(chunks, out))
    }

    /// A goodbye of at most 31 sources, with a reason of at most 255 bytes.
    pub fn bye(&mut self, sources: &[Ssrc], reason: Option<&[u8]>) -> bool {
        self.packet(Bye::KIND, |out| bye::write(sources, reason, out))
    }

    /// An application's own packet; its data must be whole words, its subtype at most 31.
    pub fn app(&mut self, app: &App<'_>) -> bool {
        self.packet(App::KIND, |out| app.write(out))
    }

    /// Packets that are missing, at least one, in ascending order.
    pub fn nack(&mut self, sender: Ssrc, media: Ssrc, missing: impl IntoIterator<Item = Sequence>) -> bool {
        self.feedback(Feedback::TRANSPORT, Nack::FORMAT, sender, media, |out| nack::write(missing, out))
    }

    /// A picture that was lost.
    pub fn pli(&mut self, pli: Pli) -> bool {
        self.feedback(Feedback::PAYLOAD, Pli::FORMAT, pli.sender, pli.media, |_| Some(()))
    }

    /// Whole pictures that are asked for, at least one. The field of the media source is 0 (RFC 5104 section 4.3.1.2).
    pub fn fir(&mut self, sender: Ssrc, entries: &[FirEntry]) -> bool {
        self.feedback(Feedback::PAYLOAD, Fir::FORMAT, sender, Ssrc(0), |out| fir::write(entries, out))
    }

    /// Feedback of another format, as given.
    pub fn other_feedback(&mut self, feedback: &Feedback<'_>) -> bool {
        let Feedback { kind, format, sender, media, fci } = *feedback;
        format <= 31 && self.feedback(kind, format, sender, media, |out| out.bytes(fci))
    }

    /// Bytes of the datagram.
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

    /// Writes a packet whose body `fill` writes; it gives the count or format.
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

/// Writes report blocks, and gives their count.
fn write_blocks(blocks: &[ReportBlock], out: &mut Cursor<'_>) -> Option<u8> {
    if blocks.len() > MAX_REPORT_BLOCKS {
        return None;
    }
    blocks.iter().try_for_each(|block| block.write(out))?;
    Some(blocks.len() as u8)
}
