//! Everything has a limit, and every limit a name.

/// What a peer, or the application, can make an association hold, and how often it tries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Receive window at the start, bytes. It is charged until the application takes the data.
    pub receive_window_bytes: usize,
    /// Most that autotuning lets the receive window grow to.
    pub max_receive_window_bytes: usize,
    /// Most bytes that `send` takes before it says "not now", unsent and unacknowledged together. From 1 MiB on it says so as
    /// soon as more is unsent than can be in flight. Who has been told so is faster than the path, and until nothing was to be sent for
    /// a while it is taken as much as was in flight last, at least 128 KiB and one message beside another: the rest would only wait.
    pub send_buffer_bytes: usize,
    /// Largest message that is put together; a longer one ends the association.
    pub max_message_bytes: usize,
    /// Messages that can be in pieces at a time.
    pub max_partial_messages: usize,
    /// Chunks held out of order; more are dropped, to be sent again.
    pub max_held_chunks: usize,
    /// Messages waiting for the application; a peer that sends tiny ones is held back by this.
    pub max_waiting_messages: usize,
    /// Streams each way (RFC 8831 section 6.2 asks for 65,535).
    pub max_streams: u16,
    /// Unacknowledged chunks.
    pub max_in_flight_chunks: usize,
    /// Chunks looked at in one packet.
    pub max_chunks_per_packet: usize,
    /// Gap blocks written into a SACK, and believed in one.
    pub max_gap_blocks: usize,
    /// Events waiting to be polled.
    pub max_events: usize,
    /// INIT and COOKIE ECHO are sent this often at the most (Max.Init.Retransmits, RFC 9260 section 16).
    pub max_init_retransmits: u32,
    /// Retransmissions in a row without an answer before the peer counts as gone (Association.Max.Retrans).
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
