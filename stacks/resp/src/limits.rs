//! Everything has a limit, and every limit a name. The defaults are those of Redis.

/// What a client can make a server hold before a command of it is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestLimits {
    /// An inline command, and the line that announces a length.
    pub max_line_bytes: usize,
    /// Arguments of a command, its name included.
    pub max_arguments: usize,
    /// One argument (`proto-max-bulk-len`).
    pub max_bulk_bytes: usize,
    /// A command with everything in it (`client-query-buffer-limit`); positions are kept in 32 bits, so that more
    /// than 4 GiB count as 4 GiB.
    pub max_request_bytes: usize,
    /// Arguments of a command before the client has said who it is.
    pub max_unauthenticated_arguments: usize,
    /// One argument before the client has said who it is.
    pub max_unauthenticated_bulk_bytes: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            max_line_bytes: 64 << 10,
            max_arguments: 1 << 20,
            max_bulk_bytes: 512 << 20,
            max_request_bytes: 1 << 30,
            max_unauthenticated_arguments: 10,
            max_unauthenticated_bulk_bytes: 16_384,
        }
    }
}

/// What a server can make a client hold before a value of it is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyLimits {
    /// A simple string, an error, a number.
    pub max_line_bytes: usize,
    /// A bulk string.
    pub max_bulk_bytes: usize,
    /// Values of one aggregate; of a map, pairs.
    pub max_aggregate: usize,
    /// Aggregates within aggregates.
    pub max_depth: usize,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self { max_line_bytes: 64 << 10, max_bulk_bytes: 512 << 20, max_aggregate: 1 << 31, max_depth: 32 }
    }
}

/// Arguments whose room is kept for the next command; of more it is given back.
pub(crate) const KEPT_ARGUMENTS: usize = 1024;

/// Bytes of inline arguments whose room is kept for the next command.
pub(crate) const KEPT_INLINE_BYTES: usize = 4096;
