/* Mistakes of a caller that the library detects: each returns its code, and the text explains it. */
#include "pipe.h"

#include <pthread.h>

#define INVALID(call)                                                        \
    do {                                                                     \
        NEED((call) == ND_INVALID);                                          \
        NEED(strlen(nd_error_text()) > 0);                                   \
    } while (0)

static void *wake(void *waker) {
    OK(nd_waker_wake(waker));
    NEED(strcmp(nd_error_text(), "") == 0); /* Texts are per thread. */
    return NULL;
}

static void nothing(void) {
    nd_endpoint *endpoint = NULL;
    nd_settings settings = {0};
    INVALID(nd_endpoint_bind(NULL, 5, NULL, &endpoint));
    INVALID(nd_endpoint_bind("127.0.0.1:0", 11, NULL, NULL));
    INVALID(nd_endpoint_bind("localhost", 9, NULL, &endpoint));
    INVALID(nd_endpoint_bind("\xff", 1, NULL, &endpoint));
    INVALID(nd_endpoint_bind("x", SIZE_MAX, NULL, &endpoint));
    NEED(nd_endpoint_bind("192.0.2.1:0", 11, &settings, &endpoint) == ND_SYSTEM);
    NEED(strstr(nd_error_text(), "192.0.2.1") != NULL && endpoint == NULL);
    INVALID(nd_peer_new(NULL, ND_PORT_OWN, NULL));
    INVALID(nd_peer_wait_gathered(NULL, 0));
    INVALID(nd_peer_get_report(NULL, NULL));
    size_t count = 7;
    NEED(nd_report_entries(NULL, &count) == NULL && count == 0 && nd_report_entries(NULL, NULL) == NULL);
    nd_report_free(NULL);
    INVALID(nd_peer_close(NULL));
    INVALID(nd_channel_send(NULL, ND_BINARY, "", 0, 0));
    INVALID(nd_channel_close(NULL));
    INVALID(nd_reactor_poll(NULL, 0, NULL, NULL));
    INVALID(nd_waker_wake(NULL));
    INVALID(nd_connection_close(NULL, 0));
    NEED(nd_peer_state(NULL) == ND_STATE_CLOSED && nd_channel_buffered_amount(NULL) == 0);
    NEED(nd_channel_label(NULL, NULL) == NULL && nd_channel_id(NULL) == -1 && nd_reactor_fd(NULL) == -1);
    nd_endpoint_free(NULL);
    nd_peer_free(NULL);
    nd_channel_free(NULL);
    nd_inbox_free(NULL);
    nd_reactor_free(NULL);
    nd_waker_free(NULL);
    nd_text_free(NULL);
}

static void unknown_numbers(void) {
    nd_endpoint *endpoint;
    nd_peer *peer = NULL;
    nd_channel *channel;
    nd_inbox *inbox = nd_inbox_new();
    const nd_message *messages;
    size_t count;
    uint32_t state;
    char *text;
    nd_settings settings = {.max_connections = 1};
    OK(nd_endpoint_bind("127.0.0.1:0", 11, &settings, &endpoint));
    OK(nd_endpoint_address(endpoint, &text, NULL));
    NEED(strncmp(text, "127.0.0.1:", 10) == 0);
    nd_text_free(text);
    INVALID(nd_peer_new(endpoint, 2, &peer));
    OK(nd_peer_new(endpoint, ND_PORT_SHARED, &peer));
    nd_peer *second;
    NEED(nd_peer_new(endpoint, ND_PORT_SHARED, &second) == ND_LIMIT);
    INVALID(nd_peer_wait_state(peer, 6, 0, &state));
    NEED(nd_peer_wait_state(peer, ND_STATE_NEW, 5, &state) == ND_NOT_NOW);
    NEED(nd_peer_accept_channel(peer, 0, &channel) == ND_NOT_NOW);
    NEED(nd_peer_accept_answer(peer, "v=0", 3) == ND_SIGNALING);
    NEED(nd_peer_accept_offer(peer, NULL, 0, &text, NULL) == ND_SIGNALING);
    NEED(nd_peer_rollback(peer) == ND_SIGNALING);
    nd_channel_options options = {.reliability = 3};
    INVALID(nd_peer_create_channel(peer, "a", 1, &options, &channel));
    options = (nd_channel_options){.protocol = NULL, .protocol_length = 1};
    INVALID(nd_peer_create_channel(peer, "a", 1, &options, &channel));
    options = (nd_channel_options){.unordered = 1, .reliability = ND_MAX_LIFETIME_MS, .reliability_limit = 100, .negotiated = 1, .id = 65535};
    INVALID(nd_peer_create_channel(peer, "a", 1, &options, &channel));
    options.id = 7;
    OK(nd_peer_create_channel(peer, "a", 1, &options, &channel));
    INVALID(nd_channel_send(channel, 2, "", 0, 0));
    INVALID(nd_channel_send(channel, ND_BINARY, NULL, 1, 0));
    NEED(nd_channel_send(channel, ND_BINARY, "", 0, 0) == ND_NOT_NOW);
    nd_bytes list[2] = {{"a", 1}, {NULL, 1}};
    INVALID(nd_channel_send_many(channel, ND_BINARY, list, 2, 0, &count));
    NEED(count == 0);
    INVALID(nd_channel_send_many(channel, ND_BINARY, (const nd_bytes *)((const char *)list + 1), 1, 0, &count));
    INVALID(nd_channel_send_many(channel, ND_BINARY, list, SIZE_MAX / 2, 0, &count));
    NEED(nd_channel_recv(channel, inbox, 1, 0, &messages, &count) == ND_NOT_NOW && count == 0);
    INVALID(nd_channel_recv(channel, NULL, 1, 0, &messages, &count));
    NEED(nd_channel_wait_open(channel, 5) == ND_NOT_NOW && nd_channel_wait_closed(channel, 5) == ND_NOT_NOW);
    nd_peer_free(peer);
    nd_channel_free(channel);
    nd_inbox_free(inbox);
    nd_endpoint_free(endpoint);
}

#define SETTINGS(...) (&(nd_settings){__VA_ARGS__})
#define SERVER(url, name, word) (&(nd_ice_server){url, strlen(url), name, strlen(name), word, strlen(word)})

static void wrong_settings(void) {
    nd_endpoint *endpoint = NULL;
    const struct {
        const nd_settings *settings;
        const char *why;
    } all[] = {
        {SETTINGS(.size = sizeof(nd_settings) - 8), "have different versions"},
        {SETTINGS(.size = sizeof(nd_settings) + 8), "have different versions"},
        {SETTINGS(.first_port = 9, .last_port = 8), "ports 9 to 8 are not a range"},
        {SETTINGS(.last_port = 8), "ports 0 to 8 are not a range"},
        {SETTINGS(.tcp_port = 65536), "tcp_port: 65536 is not a port"},
        {SETTINGS(.ice_servers = SERVER("turns:127.0.0.1", "a", "b"), .ice_server_count = 1, .server_roots = "none", .server_roots_length = 4),
         "`server_roots` must contain certificates"},
        {SETTINGS(.public_addresses = "203.0.113.7 here", .public_addresses_length = 16), "\"here\" is not an IP address"},
        {SETTINGS(.ice_servers = SERVER("turn:127.0.0.1", "", ""), .ice_server_count = 1), "a username and a credential"},
        {SETTINGS(.ice_servers = SERVER("http://127.0.0.1", "", ""), .ice_server_count = 1), "http://127.0.0.1: expected stun:"},
        {SETTINGS(.ice_servers = SERVER("\xff", "", ""), .ice_server_count = 1), "UTF-8"},
        {SETTINGS(.ice_servers = &(nd_ice_server){NULL, 3, NULL, 0, NULL, 0}, .ice_server_count = 1), "NULL"},
        {SETTINGS(.ice_server_count = 1), "NULL"},
        {SETTINGS(.ice_servers = SERVER("stun:127.0.0.1", "", ""), .ice_server_count = SIZE_MAX / 2), "exceeds the address space"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        INVALID(nd_endpoint_bind("127.0.0.1:0", 11, all[i].settings, &endpoint));
        need(strstr(nd_error_text(), all[i].why) != NULL, all[i].why);
    }
}

static const nd_stats *entry(const nd_report *report, uint32_t what) {
    size_t count;
    const nd_stats *const *entries = nd_report_entries(report, &count);
    for (size_t i = 0; i < count; i++)
        if (entries[i]->what == what)
            return entries[i];
    return NULL;
}

/* A connection whose server never answers: its candidates, and how long gathering lasts. */
static void waiting_for_servers(void) {
    nd_reactor *reactor;
    uint64_t connection;
    uint32_t channel;
    char *text;
    nd_report *report;
    nd_settings settings = {.size = sizeof settings, .public_addresses = " 203.0.113.7  2001:db8::7 ", .public_addresses_length = 26};
    /* TEST-NET-1, RFC 5737: never answers. */
    settings.ice_servers = SERVER("stun:192.0.2.1:9", "", "");
    settings.ice_server_count = 1;
    OK(nd_reactor_bind("127.0.0.1:0", 11, &settings, &reactor));
    OK(nd_reactor_add(reactor, ND_PORT_SHARED, &connection));
    NEED(nd_connection_is_gathering(reactor, connection) == 1 && nd_connection_is_gathering(reactor, connection + 1) == 0);
    NEED(nd_connection_local_description(reactor, connection, &text, NULL) == ND_CLOSED);
    OK(nd_connection_create_channel(reactor, connection, "with a \0", 8, NULL, &channel));
    OK(nd_connection_create_offer(reactor, connection, 0, &text, NULL));
    NEED(strstr(text, " 203.0.113.7 ") != NULL && strstr(text, "a=end-of-candidates") == NULL);
    nd_text_free(text);
    OK(nd_connection_local_description(reactor, connection, &text, NULL));
    NEED(strstr(text, " typ srflx ") != NULL);
    nd_text_free(text);
    NEED(nd_connection_get_report(reactor, connection + 1, &report) == ND_CLOSED);
    OK(nd_connection_get_report(reactor, connection, &report));
    nd_reactor_free(reactor);
    const nd_stats_transport *transport = (const void *)entry(report, ND_STATS_TRANSPORT);
    NEED(strcmp(transport->ice_role, "unknown") == 0 && strcmp(transport->dtls_role, "unknown") == 0);
    NEED(transport->tls_version == NULL && transport->selected_candidate_pair == NULL && transport->remote_certificate == NULL);
    const nd_stats_data_channel *of_channel = (const void *)entry(report, ND_STATS_DATA_CHANNEL);
    NEED(of_channel->label_length == 8 && memcmp(of_channel->label, "with a \0", 9) == 0 && of_channel->data_channel_identifier == -1);
    const nd_stats_candidate *local = (const void *)entry(report, ND_STATS_LOCAL_CANDIDATE);
    NEED(strcmp(local->candidate_type, "host") == 0 && local->related_address == NULL && local->related_port == 0);
    NEED(entry(report, ND_STATS_REMOTE_CANDIDATE) == NULL && entry(report, ND_STATS_CANDIDATE_PAIR) == NULL);
    nd_report_free(report);
}

static void gathered(void) {
    nd_endpoint *endpoint;
    nd_peer *peer;
    char *text;
    size_t length = 7;
    OK(nd_endpoint_bind("127.0.0.1:0", 11, SETTINGS(.tcp_port = -1), &endpoint));
    OK(nd_peer_new(endpoint, ND_PORT_OWN, &peer));
    OK(nd_peer_wait_gathered(peer, 0));
    OK(nd_peer_server_failures(peer, &text, &length));
    NEED(length == 0 && *text == 0);
    nd_text_free(text);
    NEED(nd_peer_local_description(peer, &text, NULL) == ND_CLOSED);
    INVALID(nd_peer_next_candidate(peer, 0, NULL, NULL));
    OK(nd_peer_next_candidate(peer, ND_FOREVER, &text, &length));
    NEED(length == 0 && *text == 0);
    nd_text_free(text);
    OK(nd_peer_create_offer(peer, 0, &text, NULL));
    NEED(strstr(text, " typ host tcptype passive") != NULL);
    nd_text_free(text);
    nd_peer_free(peer);
    nd_endpoint_free(endpoint);
}

static void reactor(void) {
    nd_reactor *reactor;
    nd_waker *waker;
    const nd_event *events;
    uint64_t connection;
    uint32_t channel;
    size_t count;
    char *text;
    pthread_t thread;
    OK(nd_reactor_bind("127.0.0.1:0", 11, NULL, &reactor));
    OK(nd_reactor_waker(reactor, &waker));
    INVALID(nd_reactor_add(reactor, 2, &connection));
    OK(nd_reactor_add(reactor, ND_PORT_SHARED, &connection));
    NEED(nd_connection_create_offer(reactor, connection + 1, 0, &text, NULL) == ND_CLOSED);
    OK(nd_connection_create_channel(reactor, connection, "a", 1, NULL, &channel));
    NEED(nd_connection_send(reactor, connection, channel, ND_TEXT, "a", 1) == ND_NOT_NOW);
    nd_bytes list[1] = {{"a", 1}};
    NEED(nd_connection_send_many(reactor, connection, channel, ND_TEXT, list, 1, &count) == ND_NOT_NOW && count == 0);
    NEED(nd_connection_send(reactor, connection, channel + 1, ND_TEXT, "a", 1) == ND_CLOSED);
    OK(nd_connection_create_offer(reactor, connection, 0, &text, NULL));
    NEED(nd_connection_accept_answer(reactor, connection, text, 10) == ND_SIGNALING);
    nd_text_free(text);
    OK(nd_connection_rollback(reactor, connection));
    NEED(nd_connection_state(reactor, connection) == ND_STATE_NEW && nd_reactor_due_ms(reactor) == 0);
    OK(nd_connection_close(reactor, connection));
    OK(nd_reactor_poll(reactor, 0, &events, &count));
    NEED(count >= 1 && events[0].connection == connection);
    NEED(nd_connection_state(reactor, connection) == ND_STATE_CLOSED);
    NEED(pthread_create(&thread, NULL, wake, waker) == 0);
    /* No time limit: only the waker can end it. */
    OK(nd_reactor_poll(reactor, ND_FOREVER, &events, &count));
    NEED(pthread_join(thread, NULL) == 0);
    nd_reactor_free(reactor);
    nd_waker_free(waker);
}

int main(void) {
    nothing();
    unknown_numbers();
    wrong_settings();
    waiting_for_servers();
    gathered();
    reactor();
    return 0;
}
