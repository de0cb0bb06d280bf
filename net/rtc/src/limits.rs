//! Limits. Those of a single connection are in [`Limits`](netdyno_rtc_core::Limits), a part of its
//! configuration.

use std::time::Duration;

/// Peer addresses that lead to one connection; the address that was silent for longest is replaced.
pub(crate) const ADDRESSES_PER_CONNECTION: usize = 8;

/// Unanswered checks of a connection; the oldest is dropped.
pub(crate) const CHECKS_PER_CONNECTION: usize = 64;

/// Connections tried for one datagram from an unknown address, in case their peer has moved.
pub(crate) const TRIALS_PER_DATAGRAM: usize = 64;

/// Such trials per second and reactor. Each takes one or two microseconds.
pub(crate) const TRIALS_PER_S: u32 = 2000;

/// After this many checks to strangers, a connection leaves half of
/// [`Settings::stranger_checks_at_once`](crate::Settings::stranger_checks_at_once) to others; before, a
/// proportional part.
pub(crate) const STRANGERS_CHECKED_MAX: u32 = 64;

/// How long a connection waits after a refused check to a stranger, unless something arrives for it.
pub(crate) const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// ICE username fragments that lead to one connection: the current one and those of pending ICE restarts.
pub(crate) const UFRAGS_PER_CONNECTION: usize = 3;

/// Bytes of unread messages that the blocking and Tokio interfaces keep for one connection. Further messages
/// stay in the connection, whose receive window then stops the peer.
pub(crate) const WAITING_BYTES: usize = 1 << 20;

/// Charged for each waiting message in addition to its bytes, because a peer can send empty messages.
pub(crate) const MESSAGE_OVERHEAD_BYTES: usize = 128;

/// Bytes of datagrams handed over to a reactor and not processed yet; as many as its socket buffer holds.
/// Further datagrams are dropped.
pub(crate) const HANDED_OVER_BYTES: usize = 4 << 20;

/// Charged for each handed-over batch in addition to its bytes.
pub(crate) const HANDED_OVER_OVERHEAD_BYTES: usize = 256;

/// Batches handed over for a connection before it gets a separate socket. Creating the socket takes as long
/// as two or three hand-overs. Set-ups and mostly idle connections stay below this.
pub(crate) const STEERED_AFTER: u32 = 16;

/// Batches at the start of a connection for which its engine may spin
/// ([`Settings::setup_spin`](crate::Settings::setup_spin)): those of a set-up.
pub(crate) const SETUP_BATCHES: u8 = 12;

/// Incoming channels not accepted yet. Further ones are closed.
pub(crate) const WAITING_CHANNELS: usize = 1024;

/// Servers in [`Settings::ice_servers`](crate::Settings::ice_servers).
pub(crate) const ICE_SERVERS: usize = 8;

/// Server failures kept for one connection.
pub(crate) const SERVER_FAILURES: usize = 16;

/// Addresses used of one server: one of each family.
pub(crate) const ADDRESSES_PER_SERVER: usize = 2;

/// Peer addresses reachable through one TURN relay; as many as a connection checks.
pub(crate) const PEERS_PER_RELAY: usize = 64;

/// Candidates with mDNS names that are being resolved, over all connections; further ones are ignored.
pub(crate) const NAMES_PENDING: usize = 256;

/// The same for one connection: browsers use one or two.
pub(crate) const NAMES_PER_CONNECTION: usize = 8;

/// mDNS queries per second, and in one burst, for each reactor.
pub(crate) const NAMES_ASKED_PER_S: u32 = 50;

/// Local addresses offered when the settings name none.
pub(crate) const LOCAL_ADDRESSES: usize = 16;

/// How long to wait for a server's first answer before gathering counts as complete. STUN servers are queried
/// further, TURN servers are not.
pub(crate) const GATHERING_TIME: Duration = Duration::from_secs(10);

/// Bytes received on a stream to a server that do not form a complete frame, in addition to one read.
pub(crate) const STREAM_INPUT_BYTES: usize = 512 << 10;

/// Bytes waiting to be written to a stream to a server. Further frames are dropped, as datagrams are by a
/// full socket: congestion control must see the loss, and late data is useless.
pub(crate) const STREAM_OUTPUT_BYTES: usize = 256 << 10;

/// Frames of one stream that are queued at a time. More frames stay in its input, and the stream is not read
/// until these are processed. A read of the longest kind holds about as many frames of 1,200 bytes.
pub(crate) const STREAM_FRAMES: usize = 256;

/// Bytes of queued frames of all streams, with their bookkeeping, above which no stream is read.
pub(crate) const STREAM_QUEUE_BYTES: usize = 4 << 20;

/// Delay before a failed or lost stream to a server is opened again. It doubles with each attempt within
/// [`GATHERING_TIME`], like the retransmission timeout of RFC 8489, section 6.2.1.
pub(crate) const STREAM_PAUSE: Duration = Duration::from_millis(500);

/// Accepted TCP connections ([`Settings::tcp_port`](crate::Settings::tcp_port)) whose peer is not identified
/// yet. The oldest is closed: a real peer sends a check at once.
pub(crate) const STRANGERS: usize = 128;

/// The same from one IPv4 address or IPv6 /64 prefix, so that one host cannot displace others.
pub(crate) const STRANGERS_PER_ADDRESS: usize = 16;

/// How long such a connection is kept.
pub(crate) const STRANGER_TIME: Duration = Duration::from_secs(10);

/// Bytes accepted from such a connection: a few checks of at most 600 bytes.
pub(crate) const STRANGER_BYTES: usize = 4 << 10;

/// TCP connections of one peer to one connection: browsers open one from each of their networks to each local
/// address. The oldest unused one is closed.
pub(crate) const STREAMS_PER_CONNECTION: usize = 16;

/// How long a closed stream may take to flush its output.
pub(crate) const STREAM_FLUSH_TIME: Duration = Duration::from_secs(2);

/// The name of driver threads.
pub(crate) const THREAD_NAME: &str = "netdyno-rtc";
