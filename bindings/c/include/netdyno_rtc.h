/* WebRTC data channels: netdyno-rtc for C. Generated from bindings/c/src by cbindgen; do not edit.
 *
 * Two interfaces, never mixed for one connection:
 *   nd_endpoint, nd_peer, nd_channel   blocking calls, each with a time limit; any thread
 *   nd_reactor                         for event loops: events are returned as a list; one thread
 *
 * Results. Functions that can fail return ND_OK or an error code; nd_error_text() explains it. Result pointers may point
 * to uninitialised memory, and are set if ND_OK is returned. NULL yields ND_INVALID unless it is said to be allowed.
 * Zero option structures first: `nd_settings settings = {.size = sizeof settings};`.
 * Ownership. Free what a function tells you to free with nd_..._free(), once; everything else belongs to the library.
 * Arguments stay yours and are not accessed after the function has returned.
 * Texts are UTF-8 with a separate length and need no terminating NUL. `timeout_ms` is in milliseconds: 0 does not wait
 * (the function tries once), ND_FOREVER has no limit.
 * Threads. Several threads may use an nd_endpoint, nd_peer, nd_channel or nd_waker at the same time; one thread frees it
 * when no other uses it. Only one thread at a time may use an nd_reactor or nd_inbox. Do not fork() while an endpoint
 * exists and use it in the child. */


#ifndef NETDYNO_RTC_H
#define NETDYNO_RTC_H

#include <stddef.h>
#include <stdint.h>

#define ND_VERSION "0.1.0"

// No time limit, like any negative value. 0 does not wait.
#define ND_FOREVER -1

// A binary message.
#define ND_BINARY 0

// A text message: UTF-8, checked at both ends.
#define ND_TEXT 1

// The endpoint's port, which connections share. There can be only one connection between two ports.
#define ND_PORT_SHARED 0

// A separate port for this connection: for many connections to one address.
#define ND_PORT_OWN 1

// No offer or answer yet (the states are those of W3C's RTCPeerConnectionState).
#define ND_STATE_NEW 0

// ICE or DTLS is in progress.
#define ND_STATE_CONNECTING 1

// DTLS is established.
#define ND_STATE_CONNECTED 2

// No answer for a while; may recover.
#define ND_STATE_DISCONNECTED 3

// The connection failed. For some time, an ICE restart can recover it.
#define ND_STATE_FAILED 4

// The connection is over.
#define ND_STATE_CLOSED 5

// Retransmitted until delivered.
#define ND_RELIABLE 0

// A message is abandoned after this many retransmissions (W3C maxRetransmits).
#define ND_MAX_RETRANSMITS 1

// A message is abandoned after this many milliseconds (W3C maxPacketLifeTime).
#define ND_MAX_LIFETIME_MS 2

// nd_stats_peer_connection: one entry.
#define ND_STATS_PEER_CONNECTION 0

// nd_stats_transport: one entry.
#define ND_STATS_TRANSPORT 1

// nd_stats_sctp: one entry.
#define ND_STATS_SCTP 2

// nd_stats_candidate_pair: each pair on which a check was sent or received.
#define ND_STATS_CANDIDATE_PAIR 3

// nd_stats_candidate: each local candidate.
#define ND_STATS_LOCAL_CANDIDATE 4

// nd_stats_candidate: each remote candidate, including those discovered by checks.
#define ND_STATS_REMOTE_CANDIDATE 5

// nd_stats_certificate: the local one, and the peer's once it is known.
#define ND_STATS_CERTIFICATE 6

// nd_stats_data_channel: each channel that is not closed.
#define ND_STATS_DATA_CHANNEL 7

// A message was received: its bytes in `data`, its kind in `value`.
#define ND_EVENT_MESSAGE 0

// The state of the connection changed: the new ND_STATE_... in `value`.
#define ND_EVENT_STATE 1

// The peer opened a data channel: its label in `data`.
#define ND_EVENT_INCOMING 2

// The channel is open: messages can be sent.
#define ND_EVENT_OPEN 3

// The channel's buffered amount fell to its threshold.
#define ND_EVENT_BUFFERED_LOW 4

// After a send that returned ND_NOT_NOW: the connection has space again.
#define ND_EVENT_WRITABLE 5

// The channel was closed, by either side or with the connection.
#define ND_EVENT_CHANNEL_CLOSED 6

// The connection failed: the reason in `data`. ND_STATE_FAILED is reported too.
#define ND_EVENT_FAILED 7

// A local candidate was found after the first description, to be passed to the peer's
// nd_connection_add_remote_candidate(): in `data`.
#define ND_EVENT_CANDIDATE 8

// Gathering is complete: every server has answered or timed out. Not reported if there are no servers to
// query.
#define ND_EVENT_GATHERED 9

// A server of the settings failed; the connection may succeed without it. Its URL and the reason in `data`.
#define ND_EVENT_SERVER_FAILED 10

// A data channel. Several threads may use it at the same time.
typedef struct nd_channel nd_channel;

// One UDP port, or one for each thread, for any number of connections, and the threads that drive them.
// Several threads may use it at the same time.
typedef struct nd_endpoint nd_endpoint;

// Holds received messages. One thread at a time may use it, for any channel.
typedef struct nd_inbox nd_inbox;

// A peer connection. Several threads may use it at the same time.
typedef struct nd_peer nd_peer;

// A UDP port for any number of connections, driven by nd_reactor_poll(). One thread at a time may use it. A
// connection is identified by the reactor and a number.
typedef struct nd_reactor nd_reactor;

// An immutable report. Any thread may read it.
typedef struct nd_report nd_report;

// Wakes nd_reactor_poll() from any thread.
typedef struct nd_waker nd_waker;

// The first member of every entry.
typedef struct {
  // The type, ND_STATS_... Skip unknown types.
  uint32_t what;
  // The size in bytes. A field exists if it ends within it.
  uint32_t size;
} nd_stats;

// The result of a call: ND_OK or an error code. nd_error_text() explains an error.
typedef int32_t nd_code;

// A STUN or TURN server (W3C RTCIceServer).
typedef struct {
  // "stun:host:port", "turn:host:port?transport=udp" or "=tcp", or "turns:host:port?transport=tcp" (TLS).
  // The port defaults to 3478, with TLS to 5349; the transport defaults to UDP, with TLS to TCP. IPv6
  // addresses are written in brackets. TCP and TLS are for networks that block UDP, on Linux only.
  const char *url;
  // Its length in bytes.
  size_t url_length;
  // The username for a TURN server; NULL for STUN.
  const char *username;
  // Its length in bytes, at most 512.
  size_t username_length;
  // The password for a TURN server.
  const char *credential;
  // Its length in bytes, at most 763.
  size_t credential_length;
} nd_ice_server;

// Settings of an endpoint. All zeros are the defaults.
typedef struct {
  // sizeof(nd_settings), so that a later version can append fields; 0 means the size in version 0.1.
  uint32_t size;
  // Threads that drive the endpoint, each with its own port; 0: one. Ignored by nd_reactor, which its
  // caller drives.
  uint32_t reactors;
  // Maximum number of connections of each thread; 0: 65,536.
  uint32_t max_connections;
  // Path MTU discovery probes UDP payloads of up to this many bytes; 0: 1,200, which disables discovery.
  uint32_t max_datagram_bytes;
  // The longest message accepted, announced to the peer; 0: 262,144.
  uint32_t max_message_bytes;
  // A connection fails after this time without an answer; 0: 30,000. Values below 15,000 count as 15,000.
  uint32_t consent_timeout_ms;
  // How long a connection that lost its path is kept for a restart; 0: 60,000; negative: not at all.
  int32_t restart_timeout_ms;
  // Not 0: use TURN relays only, so that the peer does not learn any address of this machine (W3C
  // iceTransportPolicy "relay").
  uint32_t relay_only;
  // The first port for ND_PORT_OWN and TURN, for a firewall that admits only a range; 0: any.
  uint16_t first_port;
  // The last port of that range.
  uint16_t last_port;
  // A TCP port on which peers may connect (RFC 6544, passive candidates), for browsers behind firewalls
  // that block UDP; negative: any free port; 0: none. It must differ from the UDP port. Several threads
  // use this port and those that follow. Linux only.
  int32_t tcp_port;
  // Public IP addresses of this machine, separated by spaces, behind a NAT that forwards each port to the
  // same local port (1:1 NAT in a cloud, or port forwarding); or NULL.
  const char *public_addresses;
  // Its length in bytes.
  size_t public_addresses_length;
  // STUN and TURN servers, or NULL. They are queried as soon as the endpoint is bound.
  const nd_ice_server *ice_servers;
  // Number of servers, at most 8.
  size_t ice_server_count;
  // Certificates (PEM) of the authorities trusted for "turns:" servers, as in a CA file; NULL: those that
  // the system trusts.
  const char *server_roots;
  // Its length in bytes.
  size_t server_roots_length;
} nd_settings;

// How to create a data channel (W3C RTCDataChannelInit). All zeros are the defaults: ordered, reliable,
// opened by DCEP.
typedef struct {
  // sizeof(nd_channel_options), so that a later version can append fields; 0 means the size in version
  // 0.1.
  uint32_t size;
  // Not 0: messages are delivered in the order of arrival.
  uint32_t unordered;
  // ND_RELIABLE, ND_MAX_RETRANSMITS or ND_MAX_LIFETIME_MS.
  uint32_t reliability;
  // Not 0: without DCEP; both sides create the channel with this `id`.
  uint32_t negotiated;
  // The limit for ND_MAX_RETRANSMITS or ND_MAX_LIFETIME_MS.
  uint16_t reliability_limit;
  // For `negotiated`: 0 to 65,534.
  uint16_t id;
  // 128 below normal, 256 normal, 512 high, 1,024 extra high; 0: normal.
  uint16_t priority;
  // The name of a subprotocol, or NULL.
  const char *protocol;
  // Its length in bytes.
  size_t protocol_length;
} nd_channel_options;

// Statistics of a connection.
typedef struct {
  // dataChannelsOpened.
  uint64_t data_channels_opened;
  // dataChannelsClosed.
  uint64_t data_channels_closed;
  // packetsSent: UDP datagrams.
  uint64_t packets_sent;
  // packetsReceived.
  uint64_t packets_received;
  // bytesSent: UDP payload.
  uint64_t bytes_sent;
  // bytesReceived.
  uint64_t bytes_received;
  // currentRoundTripTime of the path, measured by STUN; 0: not measured yet.
  uint64_t current_round_trip_time_ns;
  // The smoothed round-trip time of SCTP; 0: not measured yet.
  uint64_t smoothed_rtt_ns;
  // congestionWindow.
  uint64_t congestion_window_bytes;
  // Sent and not acknowledged yet.
  uint64_t in_flight_bytes;
  // Retransmitted DATA chunks.
  uint64_t chunks_retransmitted;
  // Messages abandoned, on partially reliable channels.
  uint64_t messages_abandoned;
  // tlsVersion: 0xFEFC is DTLS 1.3, 0xFEFD 1.2; 0: not negotiated yet, or over.
  uint32_t tls_version;
} nd_connection_stats;

// A received message, in the library's memory: see nd_channel_recv().
typedef struct {
  // The bytes; text is not NUL-terminated.
  const void *data;
  // Number of bytes.
  size_t length;
  // ND_BINARY or ND_TEXT.
  uint32_t kind;
} nd_message;

// Statistics of a data channel (RTCDataChannelStats). Bytes are payload.
typedef struct {
  // messagesSent.
  uint64_t messages_sent;
  // bytesSent.
  uint64_t bytes_sent;
  // messagesReceived.
  uint64_t messages_received;
  // bytesReceived.
  uint64_t bytes_received;
} nd_channel_stats;

// An event of a connection.
typedef struct {
  // The connection, as returned by nd_reactor_add().
  uint64_t connection;
  // The type, ND_EVENT_...
  uint32_t what;
  // The channel, for events of a channel.
  uint32_t channel;
  // Depends on the type.
  uint32_t value;
  // Bytes, or text that is not NUL-terminated; depends on the type. Valid until the next
  // nd_reactor_poll().
  const void *data;
  // Number of bytes.
  size_t length;
} nd_event;

// Bytes to send, in the caller's memory.
typedef struct {
  // May be NULL if `length` is 0.
  const void *data;
  // Number of bytes.
  size_t length;
} nd_bytes;

// RTCPeerConnectionStats.
typedef struct {
  // ND_STATS_PEER_CONNECTION.
  nd_stats head;
  // dataChannelsOpened.
  uint64_t data_channels_opened;
  // dataChannelsClosed.
  uint64_t data_channels_closed;
} nd_stats_peer_connection;

// RTCIceCandidateStats.
typedef struct {
  // ND_STATS_LOCAL_CANDIDATE or ND_STATS_REMOTE_CANDIDATE.
  nd_stats head;
  // address.
  const char *address;
  // candidateType: "host", "srflx", "prflx" or "relay".
  const char *candidate_type;
  // protocol: between the peers.
  const char *protocol;
  // foundation (RFC 8445 section 5.1.1.3).
  const char *foundation;
  // relatedAddress: the base of a reflexive or relayed candidate, or NULL.
  const char *related_address;
  // priority (RFC 8445 section 5.1.2).
  uint32_t priority;
  // port.
  uint16_t port;
  // relatedPort.
  uint16_t related_port;
  // relayProtocol: to the TURN server of a local relayed candidate, "udp", "tcp" or "tls"; otherwise NULL.
  const char *relay_protocol;
} nd_stats_candidate;

// RTCIceCandidatePairStats. Packets and bytes are those of data, without checks.
typedef struct {
  // ND_STATS_CANDIDATE_PAIR.
  nd_stats head;
  // localCandidateId.
  const nd_stats_candidate *local;
  // remoteCandidateId.
  const nd_stats_candidate *remote;
  // state: "waiting", "in-progress", "failed" or "succeeded".
  const char *state;
  // packetsSent.
  uint64_t packets_sent;
  // packetsReceived.
  uint64_t packets_received;
  // bytesSent.
  uint64_t bytes_sent;
  // bytesReceived.
  uint64_t bytes_received;
  // totalRoundTripTime: the sum over all measured checks.
  uint64_t total_round_trip_time_ns;
  // currentRoundTripTime: of the latest check; 0: not measured yet.
  uint64_t current_round_trip_time_ns;
  // requestsReceived.
  uint64_t requests_received;
  // requestsSent, including consent checks.
  uint64_t requests_sent;
  // responsesReceived.
  uint64_t responses_received;
  // responsesSent.
  uint64_t responses_sent;
  // consentRequestsSent.
  uint64_t consent_requests_sent;
  // nominated: not 0 if true.
  uint32_t nominated;
} nd_stats_candidate_pair;

// RTCCertificateStats.
typedef struct {
  // ND_STATS_CERTIFICATE.
  nd_stats head;
  // fingerprint: "AB:CD:..".
  const char *fingerprint;
  // fingerprintAlgorithm: "sha-256".
  const char *fingerprint_algorithm;
  // base64Certificate: DER in Base64.
  const char *base64_certificate;
} nd_stats_certificate;

// RTCTransportStats. Without the packets and bytes of ICE, as W3C specifies; nd_connection_stats includes
// them.
typedef struct {
  // ND_STATS_TRANSPORT.
  nd_stats head;
  // packetsSent: UDP datagrams.
  uint64_t packets_sent;
  // packetsReceived.
  uint64_t packets_received;
  // bytesSent: UDP payload.
  uint64_t bytes_sent;
  // bytesReceived.
  uint64_t bytes_received;
  // iceRole: "unknown", "controlling" or "controlled".
  const char *ice_role;
  // iceState: "new", "checking", "connected", "disconnected" or "failed".
  const char *ice_state;
  // iceLocalUsernameFragment.
  const char *ice_local_username_fragment;
  // dtlsState: "new", "connecting", "connected", "closed" or "failed".
  const char *dtls_state;
  // dtlsRole: "unknown", "client" or "server".
  const char *dtls_role;
  // tlsVersion: "FEFC" is DTLS 1.3, "FEFD" 1.2. NULL: not negotiated yet, or over.
  const char *tls_version;
  // selectedCandidatePairId: the pair in use, or NULL.
  const nd_stats_candidate_pair *selected_candidate_pair;
  // localCertificateId.
  const nd_stats_certificate *local_certificate;
  // remoteCertificateId, or NULL.
  const nd_stats_certificate *remote_certificate;
  // selectedCandidatePairChanges: includes the first selection.
  uint32_t selected_candidate_pair_changes;
} nd_stats_transport;

// RTCSctpTransportStats: the association that carries the channels.
typedef struct {
  // ND_STATS_SCTP.
  nd_stats head;
  // smoothedRoundTripTime; 0: not measured yet.
  uint64_t smoothed_round_trip_time_ns;
  // congestionWindow.
  uint64_t congestion_window_bytes;
  // receiverWindow: the peer's.
  uint64_t receiver_window_bytes;
  // Sent and not acknowledged yet.
  uint64_t in_flight_bytes;
  // Retransmitted DATA chunks.
  uint64_t chunks_retransmitted;
  // Messages abandoned, on partially reliable channels.
  uint64_t messages_abandoned;
} nd_stats_sctp;

// RTCDataChannelStats. Bytes are payload.
typedef struct {
  // ND_STATS_DATA_CHANNEL.
  nd_stats head;
  // label.
  const char *label;
  // Its length in bytes, without the terminating NUL: it may contain NUL bytes.
  size_t label_length;
  // protocol.
  const char *protocol;
  // Its length in bytes.
  size_t protocol_length;
  // state: "connecting", "open" or "closing".
  const char *state;
  // messagesSent.
  uint64_t messages_sent;
  // bytesSent.
  uint64_t bytes_sent;
  // messagesReceived.
  uint64_t messages_received;
  // bytesReceived.
  uint64_t bytes_received;
  // dataChannelIdentifier: the SCTP stream; -1: not known yet.
  int32_t data_channel_identifier;
} nd_stats_data_channel;

// Success.
#define ND_OK 0

// Timed out (with 0 ms: not possible now), or no space. Nothing was done, or as much as the function says;
// try again.
#define ND_NOT_NOW 1

// The channel or connection is closed.
#define ND_CLOSED 2

// The connection failed: no path, or an error of DTLS or SCTP.
#define ND_FAILED 3

// An invalid argument: NULL, not UTF-8, or an unknown number. A bug in the caller.
#define ND_INVALID 4

// A description or candidate was rejected. The connection continues unchanged.
#define ND_SIGNALING 5

// The message is longer than the peer accepts.
#define ND_TOO_LONG 6

// The endpoint's settings allow no further connection.
#define ND_LIMIT 7

// The operating system refused: no such address, port in use, no file descriptors left.
#define ND_SYSTEM 8

// A bug in this library. Its state is undefined from now on: free its handles.
#define ND_BUG 9

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns why the last failed call of this thread failed, in English: UTF-8, NUL-terminated, "" if none
// failed. Valid until the next call of this thread that fails. Do not free it.
const char *nd_error_text(void);

// Returns the version of the library, such as "0.1.0". It must match ND_VERSION of the header.
const char *nd_version(void);

// Frees a text that a function of this library returned. NULL is allowed.
void nd_text_free(char *text);

// Returns the entries, starting with one each of the first three types. They and all that they point to
// belong to the report. For NULL, returns NULL and sets `*count` to 0.
const nd_stats *const *nd_report_entries(const nd_report *report, size_t *count);

// Frees the report. NULL is allowed.
void nd_report_free(nd_report *report);

// Binds "ADDRESS:PORT" (port 0: any free port) and starts the threads. `settings` may be NULL.
//
// Free `*endpoint` with nd_endpoint_free().
nd_code nd_endpoint_bind(const char *address,
                         size_t address_length,
                         const nd_settings *settings,
                         nd_endpoint **endpoint);

// Returns the bound address as "ADDRESS:PORT"; with several threads, that of the first.
//
// Free `*text` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_endpoint_address(const nd_endpoint *endpoint, char **text, size_t *length);

// Frees the handle. The endpoint and its threads end when the last of its connections and channels is freed
// too. No other thread may be using the handle. NULL is allowed.
void nd_endpoint_free(nd_endpoint *endpoint);

// Creates a connection. Nothing is sent until it has an offer or an answer. `port`: ND_PORT_SHARED or
// ND_PORT_OWN.
//
// Free `*peer` with nd_peer_free(). The endpoint may be freed first.
nd_code nd_peer_new(const nd_endpoint *endpoint, uint32_t port, nd_peer **peer);

// Frees the handle. The connection is closed when its channels are freed too; unsent data is then lost. No
// other thread may be using the handle. NULL is allowed.
void nd_peer_free(nd_peer *peer);

// Creates a data channel, at any time. Messages can be sent once it is open. `options` may be NULL.
//
// Free `*channel` with nd_channel_free().
nd_code nd_peer_create_channel(const nd_peer *peer,
                               const char *label,
                               size_t label_length,
                               const nd_channel_options *options,
                               nd_channel **channel);

// Waits for the next data channel that the peer opens. Up to 1,024 channels wait to be accepted; further
// ones are closed.
//
// Free `*channel` with nd_channel_free().
nd_code nd_peer_accept_channel(const nd_peer *peer, int64_t timeout_ms, nd_channel **channel);

// Creates an offer with all candidates known so far. Create a channel first; without one there is nothing to
// connect for. If `restart` is not 0, the offer has new ICE credentials, to replace a lost path.
//
// Free `*offer` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_peer_create_offer(const nd_peer *peer, uint32_t restart, char **offer, size_t *length);

// Withdraws the local offer that awaits its answer, so that an offer of the peer can be accepted.
nd_code nd_peer_rollback(const nd_peer *peer);

// Accepts the peer's offer and returns the answer.
//
// Free `*answer` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_peer_accept_offer(const nd_peer *peer,
                             const char *offer,
                             size_t offer_length,
                             char **answer,
                             size_t *length);

// Accepts the peer's answer to the local offer.
nd_code nd_peer_accept_answer(const nd_peer *peer, const char *answer, size_t answer_length);

// Adds a trickled candidate of the peer, from "candidate:" on; an empty text ends the candidates.
nd_code nd_peer_add_remote_candidate(const nd_peer *peer, const char *candidate, size_t candidate_length);

// Waits until every server of the settings has answered or 10 s have passed; returns at once if there are
// none. A description created afterwards contains all candidates. ND_NOT_NOW: gathering continues, and a
// description contains the candidates known now.
nd_code nd_peer_wait_gathered(const nd_peer *peer, int64_t timeout_ms);

// Returns the failures of the settings' servers for this connection, one line each with the URL and the
// reason; the latest 16, oldest first.
//
// Free `*failures` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_peer_server_failures(const nd_peer *peer, char **failures, size_t *length);

// Returns the latest local description with all candidates known now, for applications that wait for
// gathering instead of trickling. ND_CLOSED: no description was created, it was withdrawn, or the connection
// is over.
//
// Free `*description` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_peer_local_description(const nd_peer *peer, char **description, size_t *length);

// Waits for the next local candidate found since the first description, to be passed to the peer's
// nd_peer_add_remote_candidate(). An empty text: gathering is complete.
//
// Free `*candidate` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_peer_next_candidate(const nd_peer *peer, int64_t timeout_ms, char **candidate, size_t *length);

// Returns the state of the connection (ND_STATE_...); ND_STATE_CLOSED for NULL.
uint32_t nd_peer_state(const nd_peer *peer);

// Waits until the state differs from `last` and returns it. Returns at once if the connection is over.
nd_code nd_peer_wait_state(const nd_peer *peer, uint32_t last, int64_t timeout_ms, uint32_t *now);

// Waits until the connection is established.
nd_code nd_peer_wait_connected(const nd_peer *peer, int64_t timeout_ms);

// Waits until the connection is over; ND_FAILED if it failed, with the reason in nd_error_text().
nd_code nd_peer_wait_closed(const nd_peer *peer, int64_t timeout_ms);

// Closes the connection and notifies the peer. Buffered data is lost: to have it delivered, close the
// channels and wait until they are closed.
nd_code nd_peer_close(const nd_peer *peer);

// Returns statistics; ND_CLOSED once the connection is over.
nd_code nd_peer_get_stats(const nd_peer *peer, nd_connection_stats *stats);

// Returns all statistics, by W3C's names; ND_CLOSED once the connection is over. The report is created by
// this call; its cost grows with the number of candidates and channels.
//
// Free `*report` with nd_report_free().
nd_code nd_peer_get_report(const nd_peer *peer, nd_report **report);

// Creates an inbox. Free it with nd_inbox_free(). NULL: out of memory.
nd_inbox *nd_inbox_new(void);

// Frees the inbox and the messages in it. NULL is allowed.
void nd_inbox_free(nd_inbox *inbox);

// Frees the handle and closes the channel. Sent messages are still delivered if the connection lives on. No
// other thread may be using the handle. NULL is allowed.
void nd_channel_free(nd_channel *channel);

// Returns the label, not NUL-terminated, and its length in bytes. Valid as long as the handle. Returns NULL
// for NULL.
const char *nd_channel_label(const nd_channel *channel, size_t *length);

// Returns the SCTP stream (W3C `id`), 0 to 65,534, or -1 if it is not known yet.
int32_t nd_channel_id(const nd_channel *channel);

// Waits until messages can be sent. The send functions also wait for that.
nd_code nd_channel_wait_open(const nd_channel *channel, int64_t timeout_ms);

// Sends a copy of a message. Waits for space in the send buffer (with 0 ms: fails if there is none).
// ND_NOT_NOW: not sent.
nd_code nd_channel_send(const nd_channel *channel,
                        uint32_t kind,
                        const void *data,
                        size_t length,
                        int64_t timeout_ms);

// Sends messages in order. Those that fit in the send buffer are queued under one lock. ND_OK: all were
// sent. ND_NOT_NOW: the first `*sent` were sent. After any other error `*sent` is 0.
nd_code nd_channel_send_many(const nd_channel *channel,
                             uint32_t kind,
                             const nd_bytes *messages,
                             size_t count,
                             int64_t timeout_ms,
                             size_t *sent);

// Waits for a message and returns up to `max` (at least 1) available messages. ND_CLOSED or ND_FAILED: no
// further message will arrive, and all received ones have been returned.
//
// `*messages` and what they point to are valid until the inbox is used again or freed. More than 1 MiB of
// unread messages of a connection stops its peer, on all channels of the connection.
nd_code nd_channel_recv(const nd_channel *channel,
                        nd_inbox *inbox,
                        size_t max,
                        int64_t timeout_ms,
                        const nd_message **messages,
                        size_t *count);

// Returns the payload bytes not yet sent for the first time (W3C bufferedAmount). Returns 0 for NULL.
size_t nd_channel_buffered_amount(const nd_channel *channel);

// Waits until at most `bytes` are buffered.
nd_code nd_channel_wait_buffered_below(const nd_channel *channel, size_t bytes, int64_t timeout_ms);

// Closes the channel once everything buffered has been delivered. Nothing can be sent any more; messages
// received before can still be taken.
nd_code nd_channel_close(const nd_channel *channel);

// Waits until either side has closed the channel. After nd_channel_close(), ND_OK means that everything was
// delivered; any other code means that the connection ended before that was known.
nd_code nd_channel_wait_closed(const nd_channel *channel, int64_t timeout_ms);

// Returns statistics; ND_CLOSED once the connection is over.
nd_code nd_channel_get_stats(const nd_channel *channel, nd_channel_stats *stats);

// Binds "ADDRESS:PORT" (port 0: any free port). `settings` may be NULL.
//
// Free `*reactor` with nd_reactor_free().
nd_code nd_reactor_bind(const char *address,
                        size_t address_length,
                        const nd_settings *settings,
                        nd_reactor **reactor);

// Closes all connections, notifies their peers and frees the reactor. NULL is allowed.
void nd_reactor_free(nd_reactor *reactor);

// Returns the bound address as "ADDRESS:PORT".
//
// Free `*text` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_reactor_address(const nd_reactor *reactor, char **text, size_t *length);

// Returns a file descriptor for the caller's event loop (epoll(7), poll(2)), readable when nd_reactor_poll()
// has something to do. It belongs to the reactor. Returns -1 for NULL and on systems other than Linux.
int32_t nd_reactor_fd(const nd_reactor *reactor);

// Returns the milliseconds until nd_reactor_poll() must be called even if nothing arrives, rounded up; 0
// after a call that may have left something to send; -1: no limit. Call it right before the event loop
// waits.
int64_t nd_reactor_due_ms(const nd_reactor *reactor);

// Waits until there is something to do and runs one turn: receives, sends, handles timers. `*count` may be 0
// even before the time limit.
//
// `*events` and what they point to are valid until the next call of this function or nd_reactor_free().
nd_code nd_reactor_poll(nd_reactor *reactor, int64_t timeout_ms, const nd_event **events, size_t *count);

// Creates a handle that wakes nd_reactor_poll() from another thread.
//
// Free `*waker` with nd_waker_free(); the reactor may be freed first.
nd_code nd_reactor_waker(const nd_reactor *reactor, nd_waker **waker);

// Ends the current or the next nd_reactor_poll(). Several threads may call it at the same time. It does not
// wake a wait on nd_reactor_fd().
nd_code nd_waker_wake(const nd_waker *waker);

// Frees the handle. NULL is allowed.
void nd_waker_free(nd_waker *waker);

// Creates a connection and returns the number that identifies it. Nothing is sent until it has an offer or
// an answer. `port`: ND_PORT_SHARED or ND_PORT_OWN.
nd_code nd_reactor_add(nd_reactor *reactor, uint32_t port, uint64_t *connection);

// Creates a data channel, at any time, and returns the number that identifies it. ND_EVENT_OPEN reports when
// messages can be sent. `options` may be NULL.
nd_code nd_connection_create_channel(nd_reactor *reactor,
                                     uint64_t connection,
                                     const char *label,
                                     size_t label_length,
                                     const nd_channel_options *options,
                                     uint32_t *channel);

// Creates an offer with all candidates known so far. Create a channel first; without one there is nothing to
// connect for. If `restart` is not 0, the offer has new ICE credentials, to replace a lost path.
//
// Free `*offer` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_connection_create_offer(nd_reactor *reactor,
                                   uint64_t connection,
                                   uint32_t restart,
                                   char **offer,
                                   size_t *length);

// Withdraws the local offer that awaits its answer, so that an offer of the peer can be accepted.
nd_code nd_connection_rollback(nd_reactor *reactor, uint64_t connection);

// Accepts the peer's offer and returns the answer.
//
// Free `*answer` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_connection_accept_offer(nd_reactor *reactor,
                                   uint64_t connection,
                                   const char *offer,
                                   size_t offer_length,
                                   char **answer,
                                   size_t *length);

// Accepts the peer's answer to the local offer.
nd_code nd_connection_accept_answer(nd_reactor *reactor,
                                    uint64_t connection,
                                    const char *answer,
                                    size_t answer_length);

// Adds a trickled candidate of the peer, from "candidate:" on; an empty text ends the candidates.
nd_code nd_connection_add_remote_candidate(nd_reactor *reactor,
                                           uint64_t connection,
                                           const char *candidate,
                                           size_t candidate_length);

// Sends a copy of a message. ND_NOT_NOW: the send buffer is full; ND_EVENT_WRITABLE reports when there is
// space.
nd_code nd_connection_send(nd_reactor *reactor,
                           uint64_t connection,
                           uint32_t channel,
                           uint32_t kind,
                           const void *data,
                           size_t length);

// Sends messages in order, as many as fit. ND_OK: all were sent. ND_NOT_NOW: the first `*sent` were sent;
// ND_EVENT_WRITABLE reports when there is space for more. After any other error `*sent` is the number sent
// before the message that failed.
nd_code nd_connection_send_many(nd_reactor *reactor,
                                uint64_t connection,
                                uint32_t channel,
                                uint32_t kind,
                                const nd_bytes *messages,
                                size_t count,
                                size_t *sent);

// Returns the channel's payload bytes not yet sent for the first time (W3C bufferedAmount); 0 if the
// connection is over.
size_t nd_connection_buffered_amount(nd_reactor *reactor, uint64_t connection, uint32_t channel);

// Sets the buffered amount at or below which ND_EVENT_BUFFERED_LOW is raised. Default: 0.
nd_code nd_connection_set_buffered_low(nd_reactor *reactor,
                                       uint64_t connection,
                                       uint32_t channel,
                                       size_t bytes);

// Sets whether messages are reported (default: yes). If `reading` is 0, they stay in the connection, and
// once its receive window is full the peer stops sending. Events already queued, and remaining messages when
// the connection ends, are still reported.
nd_code nd_connection_set_reading(nd_reactor *reactor, uint64_t connection, uint32_t reading);

// Closes a channel once everything buffered has been sent. ND_EVENT_CHANNEL_CLOSED: everything was
// delivered, or the connection ended.
nd_code nd_connection_close_channel(nd_reactor *reactor, uint64_t connection, uint32_t channel);

// Closes the connection and notifies the peer. Buffered data is lost.
nd_code nd_connection_close(nd_reactor *reactor, uint64_t connection);

// Returns 1 while servers are being queried for candidates, until ND_EVENT_GATHERED; otherwise 0.
uint32_t nd_connection_is_gathering(nd_reactor *reactor, uint64_t connection);

// Returns the latest local description with all candidates known now, for applications that wait for
// ND_EVENT_GATHERED instead of trickling. ND_CLOSED: no description was created, it was withdrawn, or the
// connection is over.
//
// Free `*description` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
nd_code nd_connection_local_description(nd_reactor *reactor,
                                        uint64_t connection,
                                        char **description,
                                        size_t *length);

// Returns the state of the connection (ND_STATE_...); ND_STATE_CLOSED if it is over.
uint32_t nd_connection_state(nd_reactor *reactor, uint64_t connection);

// Returns statistics of the connection; ND_CLOSED once it is over.
nd_code nd_connection_get_stats(nd_reactor *reactor, uint64_t connection, nd_connection_stats *stats);

// Returns statistics of a channel; ND_CLOSED once the connection is over.
nd_code nd_connection_get_channel_stats(nd_reactor *reactor,
                                        uint64_t connection,
                                        uint32_t channel,
                                        nd_channel_stats *stats);

// Returns all statistics of a connection, by W3C's names; ND_CLOSED once it is over. The report is created
// by this call; its cost grows with the number of candidates and channels.
//
// Free `*report` with nd_report_free(); it may outlive the reactor.
nd_code nd_connection_get_report(nd_reactor *reactor, uint64_t connection, nd_report **report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NETDYNO_RTC_H */
