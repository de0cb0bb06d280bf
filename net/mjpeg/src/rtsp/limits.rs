//! Everything has a limit, and every limit a name.

/// Bytes of a request up to the empty line after its headers.
pub const MAX_HEAD_BYTES: usize = 8 << 10;

/// Bytes of a request's body. What we serve needs none.
pub const MAX_BODY_BYTES: usize = 8 << 10;

/// Bytes of an interleaved packet: its length has 16 bits (RFC 2326 section 10.12).
pub const MAX_INTERLEAVED_BYTES: usize = 0xffff;

/// Bytes that a connection has to hold until a unit is whole, at the most.
pub const MAX_UNIT_BYTES: usize = 4 + MAX_INTERLEAVED_BYTES;

/// Transports that a SETUP may offer; what is beyond them is not looked at.
pub const MAX_TRANSPORTS: usize = 16;
