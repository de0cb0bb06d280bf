//! Everything has a limit, and every limit a name.

/// RTCP packets in one datagram, more than a compound packet of a session can need.
pub const MAX_COMPOUND_PACKETS: usize = 64;

/// CSRCs of a packet: its field has four bits (RFC 3550 section 5.1).
pub const MAX_CSRCS: usize = 15;

/// Report blocks of one report: its field has five bits (RFC 3550 section 6.4.1). The same holds for the chunks of an SDES
/// and the sources of a BYE.
pub const MAX_REPORT_BLOCKS: usize = 31;

/// Bytes of a text in SDES and of the reason of a BYE: its length has one byte (RFC 3550 section 6.5).
pub const MAX_TEXT_BYTES: usize = 255;

/// Packets in a row before a source counts (MIN_SEQUENTIAL, RFC 3550 section A.1).
pub const MIN_SEQUENTIAL: u16 = 2;

/// How far a sequence number may leap forward before the source is taken for restarted (MAX_DROPOUT, RFC 3550 section A.1).
pub const MAX_DROPOUT: u16 = 3000;

/// How far a sequence number may be behind before the source is taken for restarted (MAX_MISORDER, RFC 3550 section A.1).
pub const MAX_MISORDER: u16 = 100;

/// Members that a [`Members`](crate::Members) keeps; beyond it they are counted no more, which lets reports be more frequent
/// than RFC 3550 section 6.2 wants in sessions of that size.
pub const MAX_MEMBERS: usize = 1024;
