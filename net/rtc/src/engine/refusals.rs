//! Counters of refused input.

/// Input that an endpoint has refused since it was bound. A counter that keeps rising shows an abusive peer. With
/// the feature `tracing`, the log names the addresses of refused TCP connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Refusals {
    /// UDP batches from unknown addresses that belong to no connection, checks with invalid integrity included.
    pub datagrams: u64,
    /// Checks that would have taken another connection's path. Their source address may be forged.
    pub paths: u64,
    /// TCP connections that were closed before their peer was identified: there were too many, or they sent too
    /// much, something invalid, or nothing in time.
    pub streams: u64,
    /// How often a TCP connection was not read because its peer sent frames faster than they were processed.
    pub stream_pauses: u64,
}
