/* Executes commands from the test with the blocking interface: "take BYTES", "give COUNT LENGTH", "fill", "stats",
 * "text", "close".
 * `peer answer` reads an offer from stdin, `peer offer` creates one. Optional arguments: the URL of a TURN server to use
 * exclusively, and the authority of its certificate.
 * `peer refused URL AUTHORITY` reports why the server failed. */
#include "pipe.h"

#include <inttypes.h>
#include <stdbool.h>

enum { PATIENCE_MS = 60000, BATCH = 16, LABEL_BYTES = 4 };

static nd_channel *channel;
static nd_inbox *inbox;

static void say(const char *text) {
    OK(nd_channel_send(channel, ND_TEXT, text, strlen(text), PATIENCE_MS));
}

static const nd_message *receive(size_t max, size_t *count) {
    const nd_message *messages;
    OK(nd_channel_recv(channel, inbox, max, PATIENCE_MS, &messages, count));
    NEED(*count >= 1 && *count <= max);
    return messages;
}

static void take(size_t bytes) {
    uint32_t hash = 0x811c9dc5;
    size_t count, taken = 0;
    while (taken < bytes) {
        const nd_message *messages = receive(BATCH, &count);
        for (size_t i = 0; i < count; i++) {
            NEED(messages[i].kind == ND_BINARY);
            hash = digest(hash, messages[i].data, messages[i].length);
            taken += messages[i].length;
        }
    }
    char text[64];
    snprintf(text, sizeof text, "took %zu %" PRIu32, taken, hash);
    say(text);
}

/* Byte `at` of message `number` is number + 7 * at. */
static void make(unsigned char *message, size_t length, size_t number) {
    for (size_t at = 0; at < length; at++)
        message[at] = (unsigned char)(number + 7 * at);
}

static void give(size_t count, size_t length) {
    unsigned char *bytes = malloc(BATCH * length + 1);
    NEED(bytes != NULL);
    for (size_t done = 0; done < count;) {
        nd_bytes batch[BATCH];
        size_t sent, want = count - done < BATCH ? count - done : BATCH;
        for (size_t i = 0; i < want; i++) {
            make(bytes + i * length, length, done + i);
            batch[i] = (nd_bytes){bytes + i * length, length};
        }
        /* Often not all of them fit within this time. */
        nd_code result = nd_channel_send_many(channel, ND_BINARY, batch, want, 1, &sent);
        NEED(result == (sent == want ? ND_OK : ND_NOT_NOW));
        done += sent;
    }
    free(bytes);
}

/* Sends until the send buffer is full, while the peer does not read, and reports the number of messages. */
static void fill(void) {
    unsigned char message[1024];
    size_t count = 0, room = 256 << 20;
    nd_code result;
    make(message, sizeof message, 0);
    while ((result = nd_channel_send(channel, ND_BINARY, message, sizeof message, 200)) == ND_OK && count * sizeof message < room)
        count++;
    NEED(result == ND_NOT_NOW && nd_channel_buffered_amount(channel) > 0);
    NEED(nd_channel_wait_buffered_below(channel, 0, 1) == ND_NOT_NOW);
    char text[64];
    put(text, (size_t)snprintf(text, sizeof text, "full %zu", count));
    OK(nd_channel_wait_buffered_below(channel, 0, PATIENCE_MS));
    NEED(nd_channel_buffered_amount(channel) == 0);
}

/* Each entry has a known type and size, and its pointers are valid. */
static void reported(const nd_peer *peer, const char *expected) {
    nd_report *report;
    size_t count, channels = 0, certificates = 0;
    const nd_stats_candidate_pair *selected = NULL;
    uint64_t sent_bytes = 0;
    OK(nd_peer_get_report(peer, &report));
    const nd_stats *const *entries = nd_report_entries(report, &count);
    for (size_t i = 0; i < count; i++) {
        if (entries[i]->what == ND_STATS_TRANSPORT) {
            const nd_stats_transport *transport = (const void *)entries[i];
            NEED(transport->head.size == sizeof *transport && i == ND_STATS_TRANSPORT);
            NEED(strcmp(transport->ice_state, "connected") == 0 && strcmp(transport->dtls_state, "connected") == 0);
            NEED(strcmp(transport->tls_version, "FEFC") == 0 || strcmp(transport->tls_version, "FEFD") == 0);
            NEED(transport->local_certificate->head.what == ND_STATS_CERTIFICATE && transport->remote_certificate != NULL);
            NEED(strlen(transport->remote_certificate->fingerprint) == 32 * 3 - 1);
            selected = transport->selected_candidate_pair;
            sent_bytes = transport->bytes_sent;
        } else if (entries[i]->what == ND_STATS_DATA_CHANNEL) {
            const nd_stats_data_channel *one = (const void *)entries[i];
            nd_channel_stats same;
            OK(nd_channel_get_stats(channel, &same));
            NEED(one->head.size == sizeof *one && one->data_channel_identifier == nd_channel_id(channel));
            NEED(one->label_length == LABEL_BYTES && strcmp(one->label, "chat") == 0 && one->protocol_length == 0);
            NEED(one->bytes_sent == same.bytes_sent && one->messages_received == same.messages_received);
            channels++;
        } else if (entries[i]->what == ND_STATS_CERTIFICATE) {
            NEED(strlen(((const nd_stats_certificate *)(const void *)entries[i])->base64_certificate) > 100);
            certificates++;
        }
    }
    NEED(count >= 8 && channels == 1 && certificates == 2 && selected != NULL);
    NEED(selected->bytes_sent == sent_bytes && selected->requests_sent > 0 && strlen(selected->state) > 0);
    NEED(strcmp(selected->local->candidate_type, expected) == 0 && strlen(selected->remote->address) > 0);
    NEED((selected->local->relay_protocol != NULL) == (strcmp(expected, "relay") == 0) && selected->remote->relay_protocol == NULL);
    NEED(selected->local->head.what == ND_STATS_LOCAL_CANDIDATE && selected->local->port > 0);
    nd_report_free(report);
}

static void statistics(const nd_peer *peer, const char *way) {
    reported(peer, way);
    nd_channel_stats of_channel;
    nd_connection_stats of_peer;
    OK(nd_channel_get_stats(channel, &of_channel));
    OK(nd_peer_get_stats(peer, &of_peer));
    NEED(of_peer.bytes_sent > of_channel.bytes_sent && of_peer.packets_received > 0 && of_peer.data_channels_opened == 1);
    NEED(of_peer.tls_version == 0xFEFC || of_peer.tls_version == 0xFEFD);
    char text[96];
    snprintf(text, sizeof text, "stats %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, of_channel.messages_sent,
             of_channel.bytes_sent, of_channel.messages_received, of_channel.bytes_received);
    put(text, strlen(text));
}

/* Executes one command; false after the last. */
static bool obey(const nd_peer *peer, const char *way) {
    size_t count, bytes, length, messages_of;
    const nd_message *message = receive(1, &count);
    char command[64];
    NEED(message->kind == ND_TEXT && message->length < sizeof command);
    memcpy(command, message->data, message->length);
    command[message->length] = 0;
    if (sscanf(command, "take %zu", &bytes) == 1) {
        take(bytes);
    } else if (sscanf(command, "give %zu %zu", &messages_of, &length) == 2) {
        give(messages_of, length);
    } else if (strcmp(command, "fill") == 0) {
        fill();
    } else if (strcmp(command, "stats") == 0) {
        statistics(peer, way);
    } else {
        NEED(strcmp(command, "close") == 0);
        return false;
    }
    return true;
}

static void connect_them(const nd_peer *peer, bool offers) {
    char *ours;
    size_t length, our_length;
    OK(nd_peer_wait_gathered(peer, PATIENCE_MS));
    if (offers) {
        OK(nd_peer_create_channel(peer, "chat", LABEL_BYTES, NULL, &channel));
        OK(nd_peer_create_offer(peer, 0, &ours, &our_length));
        put(ours, our_length);
    }
    char *theirs = get(&length);
    NEED(theirs != NULL);
    if (offers) {
        OK(nd_peer_accept_answer(peer, theirs, length));
    } else {
        OK(nd_peer_accept_offer(peer, theirs, length, &ours, NULL));
        put(ours, strlen(ours));
        OK(nd_peer_accept_channel(peer, PATIENCE_MS, &channel));
    }
    free(theirs);
    nd_text_free(ours);
    OK(nd_peer_wait_connected(peer, PATIENCE_MS));
    OK(nd_channel_wait_open(channel, PATIENCE_MS));
    NEED(nd_peer_state(peer) == ND_STATE_CONNECTED);
    const char *label = nd_channel_label(channel, &length);
    NEED(length == LABEL_BYTES && memcmp(label, "chat", LABEL_BYTES) == 0 && nd_channel_id(channel) >= 0);
}

/* Reports why the server failed. */
static int refused(nd_endpoint *endpoint, nd_peer *peer) {
    char *failures;
    size_t length;
    OK(nd_peer_wait_gathered(peer, PATIENCE_MS));
    OK(nd_peer_server_failures(peer, &failures, &length));
    NEED(strlen(failures) == length);
    put(failures, length);
    nd_text_free(failures);
    nd_peer_free(peer);
    nd_endpoint_free(endpoint);
    return 0;
}

int main(int argc, char **argv) {
    nd_endpoint *endpoint;
    nd_peer *peer;
    const char *address = "127.0.0.1:0";
    NEED(argc >= 2 && strcmp(nd_version(), ND_VERSION) == 0);
    nd_settings settings = {.size = sizeof settings};
    nd_ice_server server = {0};
    if (argc >= 3) { /* only through this server */
        server = (nd_ice_server){argv[2], strlen(argv[2]), "name", 4, "password", 8};
        settings.ice_servers = &server;
        settings.ice_server_count = 1;
        settings.relay_only = 1;
    }
    if (argc == 4) {
        settings.server_roots = argv[3];
        settings.server_roots_length = strlen(argv[3]);
    }
    OK(nd_endpoint_bind(address, strlen(address), &settings, &endpoint));
    OK(nd_peer_new(endpoint, ND_PORT_OWN, &peer));
    if (strcmp(argv[1], "refused") == 0)
        return refused(endpoint, peer);
    inbox = nd_inbox_new();
    NEED(inbox != NULL && nd_peer_state(peer) == ND_STATE_NEW);
    connect_them(peer, strcmp(argv[1], "offer") == 0);
    while (obey(peer, argc >= 3 ? "relay" : "host")) {
    }
    OK(nd_channel_close(channel));
    OK(nd_channel_wait_closed(channel, PATIENCE_MS));
    NEED(nd_channel_send(channel, ND_BINARY, "", 0, PATIENCE_MS) == ND_CLOSED);
    const nd_message *messages;
    size_t count = 7;
    NEED(nd_channel_recv(channel, inbox, 1, PATIENCE_MS, &messages, &count) == ND_CLOSED && count == 0);
    OK(nd_peer_close(peer));
    uint32_t state;
    OK(nd_peer_wait_closed(peer, PATIENCE_MS));
    OK(nd_peer_wait_state(peer, ND_STATE_CONNECTED, PATIENCE_MS, &state));
    NEED(state == ND_STATE_CLOSED);
    nd_connection_stats none;
    NEED(nd_peer_get_stats(peer, &none) == ND_CLOSED);
    put("closed", 6);
    /* The endpoint first: the order must not matter. */
    nd_endpoint_free(endpoint);
    nd_peer_free(peer);
    nd_channel_free(channel);
    nd_inbox_free(inbox);
    return 0;
}
