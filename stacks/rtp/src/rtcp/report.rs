//! Sender and receiver reports ([RFC 3550 section 6.4](https://www.rfc-editor.org/rfc/rfc3550#section-6.4)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---+-+---------+---------------+-------------------------------+
//! |V=2|P|   RC    | SR 200, RR 201|            length             |
//! +---+-+---------+---------------+-------------------------------+
//! |                        SSRC of sender                         |
//! +===============================================================+
//! |                    NTP timestamp, 64 bits                     |  SR alone
//! |                                                               |
//! +---------------------------------------------------------------+
//! |                         RTP timestamp                         |
//! +---------------------------------------------------------------+
//! |                     sender's packet count                     |
//! +---------------------------------------------------------------+
//! |                      sender's octet count                     |
//! +===============================================================+
//! |                            SSRC_n                             |  RC times
//! +---------------+-----------------------------------------------+
//! | fraction lost |       cumulative number of packets lost       |
//! +---------------+-----------------------------------------------+
//! |           extended highest sequence number received           |
//! +---------------------------------------------------------------+
//! |                      interarrival jitter                      |
//! +---------------------------------------------------------------+
//! |                         last SR (LSR)                         |
//! +---------------------------------------------------------------+
//! |                   delay since last SR (DLSR)                  |
//! +===============================================================+
//! |                  profile-specific extensions                  |
//! +---------------------------------------------------------------+
//! ```

use super::RawPacket;
use crate::bytes::{Cursor, u32_at, u64_at};
use crate::error::Malformed;
use crate::types::{NtpTime, Ssrc, Timestamp};

/// Length of the sender information with the SSRC.
const SENDER_BYTES: usize = 24;
/// Length of a report block.
const BLOCK_BYTES: usize = 24;

/// The sender information of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderInfo {
    /// The source.
    pub ssrc: Ssrc,
    /// Wall-clock time of the report; 0 if unknown.
    pub ntp: NtpTime,
    /// The same time on the media clock.
    pub rtp: Timestamp,
    /// Sent packets modulo 2^32.
    pub packets: u32,
    /// Sent payload bytes without headers and padding, modulo 2^32.
    pub octets: u32,
}

impl SenderInfo {
    fn parse(fields: &[u8; SENDER_BYTES]) -> Self {
        Self {
            ssrc: Ssrc(u32_at(fields, 0)),
            ntp: NtpTime(u64_at(fields, 4)),
            rtp: Timestamp(u32_at(fields, 12)),
            packets: u32_at(fields, 16),
            octets: u32_at(fields, 20),
        }
    }

    pub(super) fn write(&self, out: &mut Cursor<'_>) -> Option<()> {
        out.u32(self.ssrc.0)?;
        out.bytes(&self.ntp.0.to_be_bytes())?;
        out.u32(self.rtp.0)?;
        out.u32(self.packets)?;
        out.u32(self.octets)
    }
}

/// A report block: the reception of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportBlock {
    /// The source.
    pub ssrc: Ssrc,
    /// Fraction of packets lost since the previous report, in units of 1/256.
    pub fraction_lost: u8,
    /// Packets lost since the start minus duplicates, signed 24 bits.
    pub cumulative_lost: i32,
    /// Highest received sequence number with the cycle count in the upper 16 bits.
    pub highest_sequence: u32,
    /// Interarrival jitter in ticks.
    pub jitter_ticks: u32,
    /// The middle 32 bits of the last sender report's NTP timestamp; 0 without one.
    pub last_sr: u32,
    /// Delay since the last sender report in units of 1/65,536 s; 0 without one.
    pub delay_since_last_sr: u32,
}

/// Range of the 24-bit cumulative loss.
const CUMULATIVE_LOST_MAX: i32 = 0x7f_ffff;

impl ReportBlock {
    fn parse(fields: &[u8; BLOCK_BYTES]) -> Self {
        Self {
            ssrc: Ssrc(u32_at(fields, 0)),
            fraction_lost: fields[4],
            // Bit 23 is the sign.
            cumulative_lost: (u32_at(fields, 4) << 8) as i32 >> 8,
            highest_sequence: u32_at(fields, 8),
            jitter_ticks: u32_at(fields, 12),
            last_sr: u32_at(fields, 16),
            delay_since_last_sr: u32_at(fields, 20),
        }
    }

    /// Writes the block; the cumulative loss is clamped to 24 bits (section A.3).
    pub(super) fn write(&self, out: &mut Cursor<'_>) -> Option<()> {
        let lost = self.cumulative_lost.clamp(-CUMULATIVE_LOST_MAX - 1, CUMULATIVE_LOST_MAX);
        out.u32(self.ssrc.0)?;
        out.u32(u32::from(self.fraction_lost) << 24 | lost as u32 & 0xff_ffff)?;
        out.u32(self.highest_sequence)?;
        out.u32(self.jitter_ticks)?;
        out.u32(self.last_sr)?;
        out.u32(self.delay_since_last_sr)
    }
}

/// The report blocks of a packet, at most 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportBlocks<'a> {
    rest: &'a [u8],
}

impl<'a> ReportBlocks<'a> {
    /// Splits `count` blocks from the input.
    fn split(count: u8, rest: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let Some((blocks, rest)) = rest.split_at_checked(BLOCK_BYTES * usize::from(count)) else {
            return Err(Malformed::new("RTCP report", "the report blocks are truncated"));
        };
        Ok((Self { rest: blocks }, rest))
    }
}

impl Iterator for ReportBlocks<'_> {
    type Item = ReportBlock;

    fn next(&mut self) -> Option<ReportBlock> {
        let (block, rest) = self.rest.split_first_chunk::<BLOCK_BYTES>()?;
        self.rest = rest;
        Some(ReportBlock::parse(block))
    }
}

/// A sender report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderReport<'a> {
    /// What the source says about itself.
    pub info: SenderInfo,
    /// The report blocks.
    pub blocks: ReportBlocks<'a>,
    /// The profile-specific extension.
    pub extension: &'a [u8],
}

impl<'a> SenderReport<'a> {
    /// Packet type.
    pub const KIND: u8 = 200;

    pub(super) fn parse(raw: RawPacket<'a>) -> Result<Self, Malformed> {
        let Some((info, rest)) = raw.body.split_first_chunk::<SENDER_BYTES>() else {
            return Err(Malformed::new("RTCP sender report", "the sender information is truncated"));
        };
        let (blocks, extension) = ReportBlocks::split(raw.count, rest)?;
        Ok(Self { info: SenderInfo::parse(info), blocks, extension })
    }
}

/// A receiver report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverReport<'a> {
    /// The SSRC of the reporter.
    pub ssrc: Ssrc,
    /// The report blocks.
    pub blocks: ReportBlocks<'a>,
    /// The profile-specific extension.
    pub extension: &'a [u8],
}

impl<'a> ReceiverReport<'a> {
    /// Packet type.
    pub const KIND: u8 = 201;

    pub(super) fn parse(raw: RawPacket<'a>) -> Result<Self, Malformed> {
        let Some((ssrc, rest)) = raw.body.split_first_chunk::<4>() else {
            return Err(Malformed::new("RTCP receiver report", "the SSRC is missing"));
        };
        let (blocks, extension) = ReportBlocks::split(raw.count, rest)?;
        Ok(Self { ssrc: Ssrc(u32::from_be_bytes(*ssrc)), blocks, extension })
    }
}
