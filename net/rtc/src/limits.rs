//! Everything has a limit, and every limit a name. What a single connection may hold is in
//! [`Limits`](netdyno_rtc_core::Limits) of its configuration.

use std::time::Duration;

/// Addresses of a peer that lead to one connection; the one not heard of for longest gives way.
pub(crate) const ADDRESSES_PER_CONNECTION: usize = 8;

/// Checks of a connection whose answers are awaited; the oldest gives way.
pub(crate) const CHECKS_PER_CONNECTION: usize = 64;

/// Connections that are asked, for one datagram from an unknown address, whether it is their peer's, who has moved.
pub(crate) const TRIALS_PER_DATAGRAM: usize = 64;

/// The same in a second, at the most, of each reactor: each takes a microsecond or two.
pub(crate) const TRIALS_PER_S: u32 = 2000;

/// After so many checks to strangers a connection leaves half of [`Settings::stranger_checks_at_once`](crate::Settings::stranger_checks_at_once)
/// to others, and before less in proportion.
pub(crate) const STRANGERS_ASKED_MAX: u32 = 64;

/// How long a connection then waits that wanted to make one more and might not, if nothing comes for it.
pub(crate) const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// User name fragments that lead to one connection: the one in use, and those of restarts of ICE under way and offered.
pub(crate) const UFRAGS_PER_CONNECTION: usize = 3;

/// Bytes of received messages that the blocking and the Tokio face keep for one connection while the application
/// does not take them. Beyond, they stay in the connection, whose receive window holds the peer back.
pub(crate) const WAITING_BYTES: usize = 1 << 20;

/// What a waiting message is charged beyond its bytes: a peer can send empty ones.
pub(crate) const MESSAGE_OVERHEAD_BYTES: usize = 128;

/// Bytes of datagrams that wait at a reactor, handed over by others at its port: as many as its socket holds. What is beyond is
/// lost, as there.
pub(crate) const HANDED_OVER_BYTES: usize = 4 << 20;

/// What is charged for each hand-over beyond its bytes.
pub(crate) const HANDED_OVER_OVERHEAD_BYTES: usize = 256;

/// Batches that are handed over for a connection before it gets a socket of its own: it takes as long as two or three hand-overs to make one.
/// A set-up needs fewer, and who is mostly silent never gets there.
pub(crate) const STEERED_AFTER: u32 = 16;

/// Batches at the beginning of a connection that its engine looks for without sleeping, if they come soon
/// ([`Settings::setup_spin`](crate::Settings::setup_spin)): those of a set-up.
pub(crate) const SETUP_BATCHES: u8 = 12;

/// Incoming channels that nobody has accepted. Further ones are closed.
pub(crate) const WAITING_CHANNELS: usize = 1024;

/// Servers of [`Settings::ice_servers`](crate::Settings::ice_servers).
pub(crate) const ICE_SERVERS: usize = 8;

/// What is kept of what was the matter with servers, of one connection.
pub(crate) const SERVER_FAILURES: usize = 16;

/// Addresses of a server that are asked: one of each family.
pub(crate) const ADDRESSES_PER_SERVER: usize = 2;

/// Addresses of a peer that something is sent to by way of one TURN server: as many as a connection checks.
pub(crate) const PEERS_PER_RELAY: usize = 64;

/// Candidates of all connections whose addresses are names of multicast DNS, and are being asked for; further ones are passed over.
pub(crate) const NAMES_PENDING: usize = 256;

/// The same of one connection: browsers have one or two.
pub(crate) const NAMES_PER_CONNECTION: usize = 8;

/// Questions for such names in a second, and at once, of each reactor.
pub(crate) const NAMES_ASKED_PER_S: u32 = 50;

/// Addresses of this machine that are offered, where it is not said which.
pub(crate) const LOCAL_ADDRESSES: usize = 16;

/// How long a server's first answer is waited for, before it is said that there will be no more candidates. STUN servers are asked on,
/// TURN servers are not.
pub(crate) const GATHERING_TIME: Duration = Duration::from_secs(10);

/// Bytes that have come by a stream to a server and are no whole frame yet, beside what one read takes.
pub(crate) const STREAM_INPUT_BYTES: usize = 512 << 10;

/// Bytes that wait in this process for room in a stream to a server. What would be more is lost, as a datagram is in a full socket: the
/// connection's congestion control has to hear of it, and what waits long is of no use to it.
pub(crate) const STREAM_OUTPUT_BYTES: usize = 256 << 10;

/// After so long a server whose connection could not be made, or was lost, is tried again; doubled each time, as long as a first answer is
/// waited for ([`GATHERING_TIME`]): what RFC 8489 section 6.2.1 has for requests by UDP.
pub(crate) const STREAM_PAUSE: Duration = Duration::from_millis(500);

/// Connections by TCP at a time that have been made to an endpoint ([`Settings::tcp_port`](crate::Settings::tcp_port)) and have not shown whose peer is
/// there. The oldest gives way: who means it sends a check at once.
pub(crate) const STRANGERS: usize = 128;

/// How long such a connection is kept.
pub(crate) const STRANGER_TIME: Duration = Duration::from_secs(10);

/// Bytes of such a connection that are taken: a check or some, which have 600 bytes at the most.
pub(crate) const STRANGER_BYTES: usize = 4 << 10;

/// Connections by TCP that a peer may have to one connection: browsers make one from each network of theirs to each address of ours. The oldest
/// that is not in use gives way.
pub(crate) const STREAMS_PER_CONNECTION: usize = 16;

/// How long what was sent may take to leave a stream that is closed.
pub(crate) const STREAM_FLUSH_TIME: Duration = Duration::from_secs(2);
