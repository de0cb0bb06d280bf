//! Every resource has a named limit. The defaults are those of Redis.

/// Limits on the data of one client's incomplete command that a server buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestLimits {
    /// Bytes of an inline command or of a length line.
    pub max_line_bytes: usize,
    /// Arguments of a command, including its name.
    pub max_arguments: usize,
    /// Bytes of one argument (`proto-max-bulk-len`).
    pub max_bulk_bytes: usize,
    /// Bytes of a complete command (`client-query-buffer-limit`). Positions have 32 bits, so larger values
    /// count as 4 GiB.
    pub max_request_bytes: usize,
    /// Arguments of a command before authentication.
    pub max_unauthenticated_arguments: usize,
    /// Bytes of an argument before authentication.
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

/// Limits on the data of one incomplete reply that a client buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyLimits {
    /// Bytes of a simple string, an error or a number.
    pub max_line_bytes: usize,
    /// Bytes of a bulk string.
    pub max_bulk_bytes: usize,
    /// Values of one aggregate; pairs of a map.
    pub max_aggregate: usize,
    /// Nesting depth of aggregates.
    pub max_depth: usize,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self { max_line_bytes: 64 << 10, max_bulk_bytes: 512 << 20, max_aggregate: 1 << 31, max_depth: 32 }
    }
}

/// Arguments whose capacity is kept for the next command.
pub(crate) const KEPT_ARGUMENTS: usize = 1024;

/// Bytes of inline arguments whose capacity is kept for the next command.
pub(crate) const KEPT_INLINE_BYTES: usize = 4096;
