//! Compound packets ([RFC 3550 section 6.1](https://www.rfc-editor.org/rfc/rfc3550#section-6.1), validated as in section
//! A.2) and reduced-size packets ([RFC 5506](https://www.rfc-editor.org/rfc/rfc5506)).

use super::{HEADER_BYTES, RawPacket, ReceiverReport, RtcpPacket, SenderReport};
use crate::bytes::u16_at;
use crate::error::Malformed;
use crate::limits::MAX_COMPOUND_PACKETS;

/// The rule for the first packet of an RTCP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rule {
    /// A sender or receiver report (RFC 3550 section 6.1).
    #[default]
    Compound,
    /// Any packet: the session uses `a=rtcp-rsize` (RFC 5506 section 5).
    ReducedSize,
}

/// The well-formed RTCP packets of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compound<'a> {
    datagram: &'a [u8],
}

impl<'a> Compound<'a> {
    /// Validates a complete datagram; any fault invalidates it (RFC 3550 section A.2). Takes one pass over at most
    /// [`MAX_COMPOUND_PACKETS`] headers and over SDES items.
    pub fn parse(datagram: &'a [u8], rule: Rule) -> Result<Self, Malformed> {
        let (mut rest, mut count) = (datagram, 0);
        while !rest.is_empty() {
            let (raw, after) = split(rest)?;
            let is_report = matches!(raw.kind, SenderReport::KIND | ReceiverReport::KIND);
            if count == 0 && rule == Rule::Compound && !is_report {
                return Err(Malformed::new("RTCP datagram", "the first packet is not a report"));
            }
            RtcpPacket::parse(raw)?;
            rest = after;
            count += 1;
            if count > MAX_COMPOUND_PACKETS {
                return Err(Malformed::new("RTCP datagram", "more than 64 packets"));
            }
        }
        if count == 0 {
            return Err(Malformed::new("RTCP datagram", "no packet"));
        }
        Ok(Self { datagram })
    }

    /// The packets in order.
    pub fn packets(self) -> Packets<'a> {
        Packets { rest: self.datagram }
    }
}

/// The packets of a [`Compound`].
#[derive(Debug, Clone, Copy)]
pub struct Packets<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Packets<'a> {
    type Item = RtcpPacket<'a>;

    fn next(&mut self) -> Option<RtcpPacket<'a>> {
        let (raw, rest) = split(self.rest).ok()?;
        self.rest = rest;
        RtcpPacket::parse(raw).ok()
    }
}

/// Splits the first packet from the input.
fn split(rest: &[u8]) -> Result<(RawPacket<'_>, &[u8]), Malformed> {
    let Some(head) = rest.first_chunk::<HEADER_BYTES>() else {
        return Err(Malformed::new("RTCP packet", "the header of 4 bytes is truncated"));
    };
    if head[0] >> 6 != 2 {
        return Err(Malformed::new("RTCP packet", "the version is not 2"));
    }
    let length = 4 * (usize::from(u16_at(head, 2)) + 1);
    let Some((packet, rest)) = rest.split_at_checked(length) else {
        return Err(Malformed::new("RTCP packet", "the length exceeds the datagram"));
    };
    let mut body = &packet[HEADER_BYTES..];
    if head[0] & 0x20 != 0 {
        // > padding .. MUST only be .. on the last individual packet (RFC 3550 section 6.4.1)
        let count = body.last().map_or(0, |count| usize::from(*count));
        if !rest.is_empty() || count == 0 || count % 4 != 0 || count > body.len() {
            let rule = "padding is not in the last packet, not a multiple of four bytes, or too long";
            return Err(Malformed::new("padding of an RTCP packet", rule));
        }
        body = &body[..body.len() - count];
    }
    Ok((RawPacket { count: head[0] & 0x1f, kind: head[1], body }, rest))
}
