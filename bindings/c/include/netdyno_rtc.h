/* WebRTC data channels: netdyno-rtc for C. Made from bindings/c/src by cbindgen; not to be edited.
 *
 * Two faces, never mixed for one connection:
 *   nd_endpoint, nd_peer, nd_channel   calls that wait, each with a time limit; any thread
 *   nd_reactor                         an event loop: what happened comes as a list; one thread
 *
 * Results. Functions that can fail return ND_OK or why not; nd_error_text() says it in words. Places for results (the pointers to
 * pointers and numbers) may hold anything before, and hold what the function gives after ND_OK. NULL is ND_INVALID where it is not said to
 * be allowed. Structures for options are to be zeroed first: `nd_settings settings = {.size = sizeof settings};`.
 * Ownership. What a function hands out with "the caller's, for nd_..._free()" is freed by that, once; all else is the library's. What
 * a function is given stays the caller's, and is not looked at after it has returned.
 * Texts are UTF-8 with a length beside them; they need no zero at the end. `timeout_ms` is in milliseconds: 0 does not
 * wait (the function tries), ND_FOREVER has no limit.
 * Threads. nd_endpoint, nd_peer, nd_channel and nd_waker may be used by several at a time (but freed by one, when no other uses
 * them); an nd_reactor and an nd_inbox by one at a time. Do not fork() while an endpoint lives and use it in the child. */


#ifndef NETDYNO_RTC_H
#define NETDYNO_RTC_H

#include <stddef.h>
#include <stdint.h>

#define ND_VERSION "0.1.0"

// A time limit that never comes; any negative one does. 0 is not to wait at all.
#define ND_FOREVER -1

// A message of bytes.
#define ND_BINARY 0

// A message that is a text: UTF-8, checked at both ends.
#define ND_TEXT 1

// All connections of an endpoint on its one port. There can be but one connection between two ports.
#define ND_PORT_SHARED 0

// A port for this connection alone: for many connections to one place.
#define ND_PORT_OWN 1

// Nothing begun (the states are W3C's RTCPeerConnectionState).
#define ND_STATE_NEW 0

// ICE or DTLS is under way.
#define ND_STATE_CONNECTING 1

// DTLS is up.
#define ND_STATE_CONNECTED 2

// No answer for a while; may come back.
#define ND_STATE_DISCONNECTED 3

// There was an error. A restart of ICE may bring it back for some time.
#define ND_STATE_FAILED 4

// Over.
#define ND_STATE_CLOSED 5

// Until it has arrived.
#define ND_RELIABLE 0

// A message is given up when it was sent again so often (W3C maxRetransmits).
#define ND_MAX_RETRANSMITS 1

// A message is given up after so many milliseconds (W3C maxPacketLifeTime).
#define ND_MAX_LIFETIME_MS 2

// nd_stats_peer_connection: one.
#define ND_STATS_PEER_CONNECTION 0

// nd_stats_transport: one.
#define ND_STATS_TRANSPORT 1

// nd_stats_sctp: one.
#define ND_STATS_SCTP 2

// nd_stats_candidate_pair: each that a check was sent or received on.
#define ND_STATS_CANDIDATE_PAIR 3

// nd_stats_candidate: each of ours.
#define ND_STATS_LOCAL_CANDIDATE 4

// nd_stats_candidate: each of the peer's, also of what its checks have shown.
#define ND_STATS_REMOTE_CANDIDATE 5

// nd_stats_certificate: ours, then the peer's once it has shown it.
#define ND_STATS_CERTIFICATE 6

// nd_stats_data_channel: each that is not closed.
#define ND_STATS_DATA_CHANNEL 7

// A message came: `data`, and its kind in `value`.
#define ND_EVENT_MESSAGE 0

// The state of the connection is another one: `value`, an ND_STATE_.
#define ND_EVENT_STATE 1

// The peer opened a data channel: its label in `data`.
#define ND_EVENT_INCOMING 2

// The channel is open: messages can be sent.
#define ND_EVENT_OPEN 3

// The channel's buffered amount fell to its threshold.
#define ND_EVENT_BUFFERED_LOW 4

// After a send that was answered with ND_NOT_NOW: there is room again on the connection.
#define ND_EVENT_WRITABLE 5

// The channel is closed, by either side or with the connection.
#define ND_EVENT_CHANNEL_CLOSED 6

// The connection failed: why, in `data`. ND_STATE_FAILED comes with it.
#define ND_EVENT_FAILED 7

// One more candidate of ours was found since the first description, for the peer's nd_connection_add_remote_candidate(): in `data`.
#define ND_EVENT_CANDIDATE 8

// All servers have answered, or have not in time: there will be no more candidates. Not told where there are none to ask.
#define ND_EVENT_GATHERED 9

// A server of the settings was of no use, or is not any more; the connection may do without. Its URL and why, in `data`.
#define ND_EVENT_SERVER_FAILED 10

// A data channel. May be used by several threads at a time.
typedef struct nd_channel nd_channel;

// A UDP port for any number of connections, and the thread that drives it, or as many of both as the settings say. May be used by
// several threads at a time.
typedef struct nd_endpoint nd_endpoint;

// Where messages stand that were received. One thread at a time; it may be used for any channel.
typedef struct nd_inbox nd_inbox;

// A peer connection. May be used by several threads at a time.
typedef struct nd_peer nd_peer;

// A UDP port for any number of connections, driven by whoever calls nd_reactor_poll(). One thread at a time may use it; its connections
// are named by numbers, each with it.
typedef struct nd_reactor nd_reactor;

// A report, which does not change. Any thread may read it.
typedef struct nd_report nd_report;

// Ends an nd_reactor_poll() from any thread.
typedef struct nd_waker nd_waker;

// What all of them begin with.
typedef struct {
  // An ND_STATS_: which structure it is. Pass over those that you do not know.
  uint32_t what;
  // Its bytes. A field is there if it ends within them.
  uint32_t size;
} nd_stats;

// What became of a call: ND_OK, or why not. nd_error_text() says it in words.
typedef int32_t nd_code;

// A STUN or TURN server (W3C RTCIceServer).
typedef struct {
  // "stun:host:port", "turn:host:port?transport=udp" or "=tcp", or "turns:host:port?transport=tcp" (TLS). The port may be left out (3478, with
  // TLS 5349), and so may the transport (UDP, with TLS TCP); IPv6 addresses stand in brackets. TCP and TLS are for where UDP is not let
  // through, and on Linux only.
  const char *url;
  // Its bytes.
  size_t url_length;
  // The name that a TURN server knows us by; NULL for STUN.
  const char *username;
  // Its bytes, up to 512.
  size_t username_length;
  // The password that goes with it.
  const char *credential;
  // Its bytes, up to 763.
  size_t credential_length;
} nd_ice_server;

// What may be set of an endpoint. All zeros are the defaults.
typedef struct {
  // sizeof(nd_settings), so that a later version may add to its end; 0 is taken for that of version 0.1.
  uint32_t size;
  // Threads that drive it, each with a port of its own; 0: one. Of no use to an nd_reactor, which is driven by its caller.
  uint32_t reactors;
  // Connections at a time, of each thread; 0: 65,536.
  uint32_t max_connections;
  // Path MTU discovery looks for UDP payloads of up to so many bytes; 0: 1,200, which is no discovery.
  uint32_t max_datagram_bytes;
  // The longest message that is taken, told to the peer; 0: 262,144.
  uint32_t max_message_bytes;
  // Without an answer for so long a connection has failed; 0: 30,000. Less than 15,000 is taken as that.
  uint32_t consent_timeout_ms;
  // How long a connection that failed for want of a path is kept for a restart; 0: 60,000, negative: not at all.
  int32_t restart_timeout_ms;
  // Not 0: no way is taken but by a TURN server, so that the peer learns no address of this machine (W3C iceTransportPolicy "relay").
  uint32_t relay_only;
  // The first of the ports that ND_PORT_OWN and TURN take, for a firewall that lets only those through; 0: any.
  uint16_t first_port;
  // The last of them.
  uint16_t last_port;
  // A TCP port at which peers may connect (RFC 6544, passive candidates), for browsers behind firewalls that let no UDP through; negative:
  // whichever is free; 0: none. Not the UDP port's number. Of several threads each has its own: this one and those behind it. Linux only.
  int32_t tcp_port;
  // The IP addresses, with spaces between, at which the world sees this machine, where a NAT leads each port there to the same one here
  // (1:1, as in a cloud, or by port forwarding); or NULL.
  const char *public_addresses;
  // Its bytes.
  size_t public_addresses_length;
  // Servers to ask for a way through NATs, or NULL. They are asked as soon as the endpoint is bound.
  const nd_ice_server *ice_servers;
  // How many, up to 8.
  size_t ice_server_count;
  // Certificates in PEM of the authorities that may have signed those of "turns:" servers, such as a file of them holds; NULL: whom the
  // system trusts.
  const char *server_roots;
  // Its bytes.
  size_t server_roots_length;
} nd_settings;

// How a data channel is made (W3C RTCDataChannelInit). All zeros are the defaults: ordered, reliable, opened by DCEP.
typedef struct {
  // sizeof(nd_channel_options), so that a later version may add to its end; 0 is taken for that of version 0.1.
  uint32_t size;
  // Not 0: messages arrive in whatever order they come.
  uint32_t unordered;
  // ND_RELIABLE, ND_MAX_RETRANSMITS or ND_MAX_LIFETIME_MS.
  uint32_t reliability;
  // Not 0: no DCEP is spoken; both sides make the channel with this `id`.
  uint32_t negotiated;
  // How often, or how long, for the latter two.
  uint16_t reliability_limit;
  // For `negotiated`: 0 to 65,534.
  uint16_t id;
  // 128 below normal, 256 normal, 512 high, 1,024 extra high; 0: normal.
  uint16_t priority;
  // Name of a subprotocol, or NULL.
  const char *protocol;
  // Its bytes.
  size_t protocol_length;
} nd_channel_options;

// Of a connection.
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
  // currentRoundTripTime of the path, by STUN; 0: not measured yet.
  uint64_t current_round_trip_time_ns;
  // SCTP's smoothed round-trip time; 0: not measured yet.
  uint64_t smoothed_rtt_ns;
  // congestionWindow.
  uint64_t congestion_window_bytes;
  // Sent and not acknowledged.
  uint64_t in_flight_bytes;
  // DATA chunks sent again.
  uint64_t chunks_retransmitted;
  // Messages given up, of channels that may.
  uint64_t messages_abandoned;
  // tlsVersion: 0xFEFC is DTLS 1.3, 0xFEFD 1.2; 0: not decided yet, or over.
  uint32_t tls_version;
} nd_connection_stats;

// A message that has come, in memory of the library's: see nd_channel_recv().
typedef struct {
  // Its bytes; a text has no zero at its end.
  const void *data;
  // How many.
  size_t length;
  // ND_BINARY or ND_TEXT.
  uint32_t kind;
} nd_message;

// Of a data channel (RTCDataChannelStats). Bytes are payload.
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

// What happened to a connection.
typedef struct {
  // The connection, as nd_reactor_add() named it.
  uint64_t connection;
  // ND_EVENT_MESSAGE and so on.
  uint32_t what;
  // The channel, where it is about one.
  uint32_t channel;
  // As the type says.
  uint32_t value;
  // Bytes or a text without a zero at its end, as the type says. The reactor's, until the next nd_reactor_poll().
  const void *data;
  // How many.
  size_t length;
} nd_event;

// Bytes to send, in memory of the caller's.
typedef struct {
  // May be NULL if `length` is 0.
  const void *data;
  // How many.
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
  // protocol: between the two peers.
  const char *protocol;
  // foundation (RFC 8445 section 5.1.1.3).
  const char *foundation;
  // relatedAddress: the base of a reflexive or relayed one, or NULL.
  const char *related_address;
  // priority (RFC 8445 section 5.1.2).
  uint32_t priority;
  // port.
  uint16_t port;
  // relatedPort.
  uint16_t related_port;
  // relayProtocol: how we speak to the TURN server of a relayed one of ours, "udp", "tcp" or "tls"; else NULL.
  const char *relay_protocol;
} nd_stats_candidate;

// RTCIceCandidatePairStats. Packets and bytes are those of data, without checks.
typedef struct {
  // ND_STATS_CANDIDATE_PAIR.
  nd_stats head;
  // localCandidateId: ours.
  const nd_stats_candidate *local;
  // remoteCandidateId: the peer's.
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
  // totalRoundTripTime: of all checks whose round trip was measured.
  uint64_t total_round_trip_time_ns;
  // currentRoundTripTime: of the last check; 0: not measured yet.
  uint64_t current_round_trip_time_ns;
  // requestsReceived.
  uint64_t requests_received;
  // requestsSent, those for consent included.
  uint64_t requests_sent;
  // responsesReceived.
  uint64_t responses_received;
  // responsesSent.
  uint64_t responses_sent;
  // consentRequestsSent.
  uint64_t consent_requests_sent;
  // nominated: not 0.
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

// RTCTransportStats. Datagrams and bytes of ICE are left out, as W3C says; nd_connection_stats has all.
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
  // tlsVersion: "FEFC" is DTLS 1.3, "FEFD" 1.2. NULL: not decided yet, or over.
  const char *tls_version;
  // selectedCandidatePairId: the pair in use, or NULL.
  const nd_stats_candidate_pair *selected_candidate_pair;
  // localCertificateId: ours.
  const nd_stats_certificate *local_certificate;
  // remoteCertificateId: the peer's, or NULL.
  const nd_stats_certificate *remote_certificate;
  // selectedCandidatePairChanges: how often another pair was chosen, the first time too.
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
  // receiverWindow: what the peer takes.
  uint64_t receiver_window_bytes;
  // Sent and not acknowledged.
  uint64_t in_flight_bytes;
  // DATA chunks sent again.
  uint64_t chunks_retransmitted;
  // Messages given up, of channels that may.
  uint64_t messages_abandoned;
} nd_stats_sctp;

// RTCDataChannelStats. Bytes are payload.
typedef struct {
  // ND_STATS_DATA_CHANNEL.
  nd_stats head;
  // label.
  const char *label;
  // Its bytes, without the zero at its end: there may be others in it.
  size_t label_length;
  // protocol.
  const char *protocol;
  // Its bytes.
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

// It is done.
#define ND_OK 0

// Not within the time that it was given (of 0 ms: not now), or no room. Nothing was done, or as much as the function says; try again.
#define ND_NOT_NOW 1

// The channel or connection is closed.
#define ND_CLOSED 2

// The connection failed: no path, or an error of DTLS or SCTP.
#define ND_FAILED 3

// An argument that cannot be: NULL, no UTF-8, an unknown number. A mistake of the caller's.
#define ND_INVALID 4

// A description or candidate was not taken. The connection goes on as before.
#define ND_SIGNALING 5

// The message is longer than the peer takes.
#define ND_TOO_LONG 6

// More connections than the endpoint's settings allow.
#define ND_LIMIT 7

// The operating system: no such address, the port is taken, no file descriptor left.
#define ND_SYSTEM 8

// A mistake of this library's, which is in a state of its own from now on: end what you have of it.
#define ND_BUG 9

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Why the last call of this thread that did not return ND_OK did not, in English: UTF-8 with a zero at its end, "" if all did. Valid until
// the next call of this thread that fails; not to be freed.
const char *nd_error_text(void);

// The version of the library: "0.1.0". The header's is ND_VERSION; the two belong together.
const char *nd_version(void);

// Frees a text that a function of this library gave. NULL is allowed.
void nd_text_free(char *text);

// Its entries, one of each of the first three first. They and all that they point to are the report's. NULL of NULL, and `*count` is 0.
const nd_stats *const *nd_report_entries(const nd_report *report,
                                         size_t *count);

// Frees it. NULL is allowed.
void nd_report_free(nd_report *report);

// Binds "ADDRESS:PORT" (port 0: any that is free) and starts the thread. `settings` may be NULL.
//
// `*endpoint` is the caller's, for nd_endpoint_free().
nd_code nd_endpoint_bind(const char *address,
                         size_t address_length,
                         const nd_settings *settings,
                         nd_endpoint **endpoint);

// The address that it is bound to, as "ADDRESS:PORT"; with several threads the first's.
//
// `*text` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_endpoint_address(const nd_endpoint *endpoint, char **text, size_t *length);

// Gives the endpoint up. It ends, with its threads, when the last of its connections and channels is freed too. No other thread may be
// using this handle. NULL is allowed.
void nd_endpoint_free(nd_endpoint *endpoint);

// A new connection, with nothing begun. `port`: ND_PORT_SHARED or ND_PORT_OWN.
//
// `*peer` is the caller's, for nd_peer_free(). The endpoint may be freed before it.
nd_code nd_peer_new(const nd_endpoint *endpoint, uint32_t port, nd_peer **peer);

// Gives the connection up: it is closed when its channels are freed too, and what was not sent by then is lost. No other thread may be
// using this handle. NULL is allowed.
void nd_peer_free(nd_peer *peer);

// A new data channel, at any time. Messages can be sent once it is open. `options` may be NULL.
//
// `*channel` is the caller's, for nd_channel_free().
nd_code nd_peer_create_channel(const nd_peer *peer,
                               const char *label,
                               size_t label_length,
                               const nd_channel_options *options,
                               nd_channel **channel);

// Waits for the next data channel that the peer opens. 1,024 may wait; what is opened beyond them is closed.
//
// `*channel` is the caller's, for nd_channel_free().
nd_code nd_peer_accept_channel(const nd_peer *peer, int64_t timeout_ms, nd_channel **channel);

// An offer with all candidates, for the other side. Create a channel first, or the peer has no reason to connect. With `restart` not 0
// it has new ICE credentials, for a path that was lost.
//
// `*offer` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_peer_create_offer(const nd_peer *peer,
                             uint32_t restart,
                             char **offer,
                             size_t *length);

// Withdraws the offer of ours that waits for its answer, so that an offer of the peer can be taken.
nd_code nd_peer_rollback(const nd_peer *peer);

// Takes the peer's offer and gives the answer.
//
// `*answer` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_peer_accept_offer(const nd_peer *peer,
                             const char *offer,
                             size_t offer_length,
                             char **answer,
                             size_t *length);

// Takes the peer's answer to the offer of ours.
nd_code nd_peer_accept_answer(const nd_peer *peer, const char *answer, size_t answer_length);

// A candidate of the peer that came after its description, from "candidate:" on; empty for the end of candidates.
nd_code nd_peer_add_remote_candidate(const nd_peer *peer,
                                     const char *candidate,
                                     size_t candidate_length);

// Waits until all servers of the settings have answered, or have not in 10 s; at once if there are none. A description that is made then has
// all candidates. ND_NOT_NOW: not yet; it has those known by now.
nd_code nd_peer_wait_gathered(const nd_peer *peer,
                              int64_t timeout_ms);

// Which servers of the settings were of no use to this connection, or are not any more: a line each, its URL and why, the latest last, 16 at the
// most.
//
// `*failures` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_peer_server_failures(const nd_peer *peer,
                                char **failures,
                                size_t *length);

// The description that was made last, now with all candidates that are known: for those who wait for them after it was made. ND_CLOSED: there
// is none, since none was made, or it was withdrawn, or the connection is over.
//
// `*description` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_peer_local_description(const nd_peer *peer,
                                  char **description,
                                  size_t *length);

// Waits for the next candidate of ours that was found since the first description, for the peer's nd_peer_add_remote_candidate(). An empty one:
// there will be no more.
//
// `*candidate` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_peer_next_candidate(const nd_peer *peer,
                               int64_t timeout_ms,
                               char **candidate,
                               size_t *length);

// The state of the connection, an ND_STATE_. Of NULL: ND_STATE_CLOSED.
uint32_t nd_peer_state(const nd_peer *peer);

// Waits until the state is another one than `last`, and gives it; once the connection is over, at once.
nd_code nd_peer_wait_state(const nd_peer *peer, uint32_t last, int64_t timeout_ms, uint32_t *now);

// Waits until it is connected.
nd_code nd_peer_wait_connected(const nd_peer *peer, int64_t timeout_ms);

// Waits until it is over; ND_FAILED, and why, if it failed.
nd_code nd_peer_wait_closed(const nd_peer *peer, int64_t timeout_ms);

// Ends the connection: the peer is told. What is buffered is lost: close the channels, and wait for that, to have all of it delivered.
nd_code nd_peer_close(const nd_peer *peer);

// Statistics; ND_CLOSED once it is over.
nd_code nd_peer_get_stats(const nd_peer *peer, nd_connection_stats *stats);

// All statistics, by W3C's names; ND_CLOSED once it is over. It is put together now, at a cost that grows with candidates and channels.
//
// `*report` is the caller's, for nd_report_free().
nd_code nd_peer_get_report(const nd_peer *peer,
                           nd_report **report);

// A new one; the caller's, for nd_inbox_free(). NULL: no memory.
nd_inbox *nd_inbox_new(void);

// Frees it, and the messages in it. NULL is allowed.
void nd_inbox_free(nd_inbox *inbox);

// Gives the channel up. It is closed by that: what was sent still arrives, if the connection lives on. No other thread may be using this
// handle. NULL is allowed.
void nd_channel_free(nd_channel *channel);

// Its label, without a zero at its end, and how many bytes those are. Valid as long as the handle. NULL of NULL.
const char *nd_channel_label(const nd_channel *channel,
                             size_t *length);

// Its SCTP stream (W3C `id`), 0 to 65,534; -1: not known yet.
int32_t nd_channel_id(const nd_channel *channel);

// Waits until messages can be sent. Sending waits for that by itself.
nd_code nd_channel_wait_open(const nd_channel *channel, int64_t timeout_ms);

// Sends a message; copies it. Waits for room in the send buffer (0 ms: if there is room now). ND_NOT_NOW: it was not sent.
nd_code nd_channel_send(const nd_channel *channel,
                        uint32_t kind,
                        const void *data,
                        size_t length,
                        int64_t timeout_ms);

// Sends these messages, one after the other, at the cost of one where there is room. ND_OK: all. ND_NOT_NOW: not all; those that were, the
// first `*sent` of them, are on their way. After another error `*sent` is 0.
nd_code nd_channel_send_many(const nd_channel *channel,
                             uint32_t kind,
                             const nd_bytes *messages,
                             size_t count,
                             int64_t timeout_ms,
                             size_t *sent);

// Waits for a message, and takes up to `max` (at least 1) that are there. ND_CLOSED, or ND_FAILED: none will come any more, and all that came has been taken.
//
// `*messages` and what they point to are the inbox's, until it is received into again, or freed. An application that leaves more than 1 MiB of a
// connection's messages waiting holds its peer back, on all channels of the connection.
nd_code nd_channel_recv(const nd_channel *channel,
                        nd_inbox *inbox,
                        size_t max,
                        int64_t timeout_ms,
                        const nd_message **messages,
                        size_t *count);

// Payload bytes not yet sent for the first time (W3C bufferedAmount). Of NULL: 0.
size_t nd_channel_buffered_amount(const nd_channel *channel);

// Waits until no more than `bytes` are buffered.
nd_code nd_channel_wait_buffered_below(const nd_channel *channel, size_t bytes, int64_t timeout_ms);

// Closes it once all that is buffered has arrived. From now on nothing can be sent; messages that came before can still be taken.
nd_code nd_channel_close(const nd_channel *channel);

// Waits until it is closed, by either side. After a nd_channel_close() ND_OK means that all has arrived; another code that its connection
// ended before that was known.
nd_code nd_channel_wait_closed(const nd_channel *channel,
                               int64_t timeout_ms);

// Statistics; ND_CLOSED once the connection is over.
nd_code nd_channel_get_stats(const nd_channel *channel, nd_channel_stats *stats);

// Binds "ADDRESS:PORT" (port 0: any that is free). `settings` may be NULL.
//
// `*reactor` is the caller's, for nd_reactor_free().
nd_code nd_reactor_bind(const char *address,
                        size_t address_length,
                        const nd_settings *settings,
                        nd_reactor **reactor);

// Ends it with all its connections, and tells their peers. NULL is allowed.
void nd_reactor_free(nd_reactor *reactor);

// The address that it is bound to, as "ADDRESS:PORT".
//
// `*text` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_reactor_address(const nd_reactor *reactor, char **text, size_t *length);

// A file descriptor for an event loop of the caller's: readable when nd_reactor_poll() has something to do (epoll(7), poll(2)). It is the
// reactor's. Of NULL, and elsewhere than on Linux: -1.
int32_t nd_reactor_fd(const nd_reactor *reactor);

// Milliseconds after which nd_reactor_poll() is due, whatever comes until then, rounded up; 0 after each call that may leave something to
// send; -1: never. For an event loop of the caller's, asked right before it waits.
int64_t nd_reactor_due_ms(const nd_reactor *reactor);

// Waits until there is something to do, and does one turn of it: receives, sends, lets time pass. `*count` may be 0 also before the time is over.
//
// `*events` and what they point to are the reactor's, until the next call of this function or nd_reactor_free().
nd_code nd_reactor_poll(nd_reactor *reactor,
                        int64_t timeout_ms,
                        const nd_event **events,
                        size_t *count);

// What ends an nd_reactor_poll() from another thread.
//
// `*waker` is the caller's, for nd_waker_free(); the reactor may be freed before it.
nd_code nd_reactor_waker(const nd_reactor *reactor, nd_waker **waker);

// Ends the nd_reactor_poll() under way, or the next one. By several threads at a time, if they like. Who waits by nd_reactor_fd() is not woken.
nd_code nd_waker_wake(const nd_waker *waker);

// Frees it. NULL is allowed.
void nd_waker_free(nd_waker *waker);

// A new connection, with nothing begun, and the number that names it from now on. `port`: ND_PORT_SHARED or ND_PORT_OWN.
nd_code nd_reactor_add(nd_reactor *reactor,
                       uint32_t port,
                       uint64_t *connection);

// A new data channel of the connection, at any time, and the number that names it. ND_EVENT_OPEN says when messages can be sent. `options` may be NULL.
nd_code nd_connection_create_channel(nd_reactor *reactor,
                                     uint64_t connection,
                                     const char *label,
                                     size_t label_length,
                                     const nd_channel_options *options,
                                     uint32_t *channel);

// An offer with all candidates, for the other side. Create a channel first, or the peer has no reason to connect. With `restart` not 0
// it has new ICE credentials, for a path that was lost.
//
// `*offer` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_connection_create_offer(nd_reactor *reactor,
                                   uint64_t connection,
                                   uint32_t restart,
                                   char **offer,
                                   size_t *length);

// Withdraws the offer of ours that waits for its answer, so that an offer of the peer can be taken.
nd_code nd_connection_rollback(nd_reactor *reactor, uint64_t connection);

// Takes the peer's offer and gives the answer.
//
// `*answer` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_connection_accept_offer(nd_reactor *reactor,
                                   uint64_t connection,
                                   const char *offer,
                                   size_t offer_length,
                                   char **answer,
                                   size_t *length);

// Takes the peer's answer to the offer of ours.
nd_code nd_connection_accept_answer(nd_reactor *reactor,
                                    uint64_t connection,
                                    const char *answer,
                                    size_t answer_length);

// A candidate of the peer that came after its description, from "candidate:" on; empty for the end of candidates.
nd_code nd_connection_add_remote_candidate(nd_reactor *reactor,
                                           uint64_t connection,
                                           const char *candidate,
                                           size_t candidate_length);

// Sends a message; copies it. ND_NOT_NOW: no room; ND_EVENT_WRITABLE says when there is.
nd_code nd_connection_send(nd_reactor *reactor,
                           uint64_t connection,
                           uint32_t channel,
                           uint32_t kind,
                           const void *data,
                           size_t length);

// Sends these messages, one after the other, as far as there is room. ND_OK: all. ND_NOT_NOW: the first `*sent` of them, and
// ND_EVENT_WRITABLE says when there is room for more. After another error `*sent` is how many were sent before the one that it is about.
nd_code nd_connection_send_many(nd_reactor *reactor,
                                uint64_t connection,
                                uint32_t channel,
                                uint32_t kind,
                                const nd_bytes *messages,
                                size_t count,
                                size_t *sent);

// Payload bytes of the channel not yet sent for the first time (W3C bufferedAmount). Of a connection that is over: 0.
size_t nd_connection_buffered_amount(nd_reactor *reactor,
                                     uint64_t connection,
                                     uint32_t channel);

// At or below how many buffered bytes ND_EVENT_BUFFERED_LOW is told; 0 at first.
nd_code nd_connection_set_buffered_low(nd_reactor *reactor,
                                       uint64_t connection,
                                       uint32_t channel,
                                       size_t bytes);

// Whether messages are told (as at first). If `reading` is 0 they stay in the connection, and once its receive window is full the peer is
// held back. What has been told already, or ends the connection, is told all the same.
nd_code nd_connection_set_reading(nd_reactor *reactor,
                                  uint64_t connection,
                                  uint32_t reading);

// Closes a channel once what is buffered has been sent. ND_EVENT_CHANNEL_CLOSED: all has arrived, or the connection ended.
nd_code nd_connection_close_channel(nd_reactor *reactor,
                                    uint64_t connection,
                                    uint32_t channel);

// Ends the connection: the peer is told. What is buffered is lost.
nd_code nd_connection_close(nd_reactor *reactor, uint64_t connection);

// Whether servers are still being asked for candidates: 1 until ND_EVENT_GATHERED, 0 after it, and where there are none to ask.
uint32_t nd_connection_is_gathering(nd_reactor *reactor,
                                    uint64_t connection);

// The description that was made last, now with all candidates that are known: for those who wait for ND_EVENT_GATHERED after it was made.
// ND_CLOSED: there is none, since none was made, or it was withdrawn, or the connection is over.
//
// `*description` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
nd_code nd_connection_local_description(nd_reactor *reactor,
                                        uint64_t connection,
                                        char **description,
                                        size_t *length);

// The state of the connection, an ND_STATE_; of one that is over: ND_STATE_CLOSED.
uint32_t nd_connection_state(nd_reactor *reactor, uint64_t connection);

// Statistics of the connection; ND_CLOSED once it is over.
nd_code nd_connection_get_stats(nd_reactor *reactor, uint64_t connection, nd_connection_stats *stats);

// Statistics of a channel; ND_CLOSED once the connection is over.
nd_code nd_connection_get_channel_stats(nd_reactor *reactor,
                                        uint64_t connection,
                                        uint32_t channel,
                                        nd_channel_stats *stats);

// All statistics of a connection, by W3C's names; ND_CLOSED once it is over. It is put together now, at a cost that grows with candidates and
// channels.
//
// `*report` is the caller's, for nd_report_free(); it may outlive the reactor.
nd_code nd_connection_get_report(nd_reactor *reactor,
                                 uint64_t connection,
                                 nd_report **report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NETDYNO_RTC_H */
