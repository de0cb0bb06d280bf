//! The limits of this crate.

/// Maximum number of RTCP packets in a datagram.
pub const MAX_COMPOUND_PACKETS: usize = 64;

/// Maximum number of CSRCs of a packet; the field has four bits (RFC 3550 section 5.1).
pub const MAX_CSRCS: usize = 15;

/// Maximum number of report blocks, SDES chunks and BYE sources; the field has five bits (RFC 3550 section 6.4.1).
pub const MAX_REPORT_BLOCKS: usize = 31;

/// Maximum length of an SDES item and of a BYE reason; the field has one byte (RFC 3550 section 6.5).
pub const MAX_TEXT_BYTES: usize = 255;

/// Consecutive packets after which a source is valid (MIN_SEQUENTIAL, RFC 3550 section A.1).
pub const MIN_SEQUENTIAL: u16 = 2;

/// Maximum forward jump of sequence numbers without a restart (MAX_DROPOUT, RFC 3550 section A.1).
pub const MAX_DROPOUT: u16 = 3000;

/// Maximum backward jump of sequence numbers without a restart (MAX_MISORDER, RFC 3550 section A.1).
pub const MAX_MISORDER: u16 = 100;

/// Maximum number of stored [`Members`](crate::Members). Further members are not counted, so that reports are more frequent than
/// RFC 3550 section 6.2 specifies for such sessions.
pub const MAX_MEMBERS: usize = 1024;
