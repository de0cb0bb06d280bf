//! Everything has a limit, and every limit a name. What a sender can make a receiver hold is in the core's limits.

/// Bytes of a JPEG file, as a source gives it: the most that RFC 2435 can carry, and as much again for what it leaves out (thumbnails,
/// metadata).
pub const MAX_PICTURE_BYTES: usize = 32 << 20;

/// Files of one folder.
pub const MAX_FILES: usize = 1 << 20;
