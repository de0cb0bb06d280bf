//! All limits of an association, by name.

/// Bounds on what a peer or the application can make an association hold, and on retries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Initial receive window in bytes. Data is charged to it until the application receives it.
    pub receive_window_bytes: usize,
    /// Upper limit of the autotuned receive window.
    pub max_receive_window_bytes: usize,
    /// Most bytes that `send` accepts, unsent and unacknowledged together. From 1 MiB on, `send` returns
    /// `WouldBlock` as soon as more is unsent than can be in flight. After that, until the send queue has
    /// been empty for a while, it accepts as much unsent data as was recently in flight, at least 128 KiB and
    /// two messages. More would only lengthen the queue.
    pub send_buffer_bytes: usize,
    /// Largest message that is reassembled; a longer one ends the association.
    pub max_message_bytes: usize,
    /// Most incomplete messages at a time: partly sent ones, since an interleaving sender that exceeds the
    /// peer's limit is aborted, and partly received ones. As many more may be held beyond a gap.
    pub max_partial_messages: usize,
    /// Most chunks held out of order; further ones are dropped, to be retransmitted.
    pub max_held_chunks: usize,
    /// Most messages waiting for the application; bounds a peer that sends tiny ones.
    pub max_waiting_messages: usize,
    /// Streams per direction (RFC 8831 section 6.2 asks for 65,535).
    pub max_streams: u16,
    /// Most unacknowledged chunks.
    pub max_in_flight_chunks: usize,
    /// Most chunks processed per packet.
    pub max_chunks_per_packet: usize,
    /// Most gap blocks written into a SACK, and processed from one.
    pub max_gap_blocks: usize,
    /// Most events waiting to be polled.
    pub max_events: usize,
    /// Most transmissions of INIT and COOKIE ECHO (Max.Init.Retransmits, RFC 9260 section 16).
    pub max_init_retransmits: u32,
    /// Consecutive unanswered retransmissions before the peer counts as unreachable
    /// (Association.Max.Retrans).
    pub max_retransmits: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            receive_window_bytes: 256 << 10,
            max_receive_window_bytes: 16 << 20,
            send_buffer_bytes: 16 << 20,
            max_message_bytes: 262_144,
            max_partial_messages: 1024,
            max_held_chunks: 16_384,
            max_waiting_messages: 65_536,
            max_streams: 65_535,
            max_in_flight_chunks: 65_536,
            max_chunks_per_packet: 1024,
            max_gap_blocks: 256,
            max_events: 4096,
            max_init_retransmits: 8,
            max_retransmits: 10,
        }
    }
}
