//! The limits of this crate.

/// Maximum length of a request line with its headers and the empty line after them.
pub const MAX_HEAD_BYTES: usize = 8 << 10;

/// Maximum length of a request body. No supported method needs one.
pub const MAX_BODY_BYTES: usize = 8 << 10;

/// Maximum length of an interleaved packet; its length field has 16 bits (RFC 2326 section 10.12).
pub const MAX_INTERLEAVED_BYTES: usize = 0xffff;

/// Maximum number of bytes that must be buffered until a message is complete.
pub const MAX_MESSAGE_BYTES: usize = 4 + MAX_INTERLEAVED_BYTES;

/// Maximum number of alternatives that are considered in a `Transport` header.
pub const MAX_TRANSPORTS: usize = 16;
