/* Echoes messages with the event-loop interface, in its own loop on poll(2). Messages that do not fit are kept, and
 * reading stops meanwhile. Reads an offer from stdin, reports the first pause, and ends when the peer closes the
 * channel. */
#include "pipe.h"

#include <poll.h>
#include <stdbool.h>

enum { BACKLOG_MAX = 1 << 16 };

struct kept {
    void *data;
    size_t length;
    uint32_t channel, kind;
};

static nd_reactor *reactor;
static uint64_t connection;
static struct kept backlog[BACKLOG_MAX];
static size_t first, last;
static bool has_rested;

static bool sent(uint32_t channel, uint32_t kind, const void *data, size_t length) {
    nd_code result = nd_connection_send(reactor, connection, channel, kind, data, length);
    NEED(result == ND_OK || result == ND_NOT_NOW);
    return result == ND_OK;
}

static void keep(const nd_event *event) {
    if (first == last) {
        first = last = 0;
        if (!has_rested)
            put("rests", 5);
        has_rested = true;
        OK(nd_connection_set_reading(reactor, connection, 0));
    }
    NEED(last < BACKLOG_MAX);
    struct kept *kept = &backlog[last++];
    *kept = (struct kept){malloc(event->length + 1), event->length, event->channel, event->value};
    NEED(kept->data != NULL);
    memcpy(kept->data, event->data, event->length);
}

static void send_kept(void) {
    if (first == last)
        return;
    while (first < last && sent(backlog[first].channel, backlog[first].kind, backlog[first].data, backlog[first].length))
        free(backlog[first++].data);
    if (first == last)
        OK(nd_connection_set_reading(reactor, connection, 1));
}

/* False after the last event. */
static bool handle(const nd_event *event) {
    NEED(event->connection == connection);
    switch (event->what) {
    case ND_EVENT_MESSAGE:
        if (first < last || !sent(event->channel, event->value, event->data, event->length))
            keep(event);
        return true;
    case ND_EVENT_WRITABLE:
        send_kept();
        return true;
    case ND_EVENT_INCOMING:
        NEED(event->length == 4 && memcmp(event->data, "echo", 4) == 0);
        return true;
    case ND_EVENT_FAILED:
        fprintf(stderr, "%.*s\n", (int)event->length, (const char *)event->data);
        exit(1);
    default:
        return event->what != ND_EVENT_CHANNEL_CLOSED;
    }
}

int main(void) {
    const char *address = "127.0.0.1:0";
    size_t length, count = 0;
    char *answer, *offer = get(&length);
    NEED(offer != NULL);
    OK(nd_reactor_bind(address, strlen(address), NULL, &reactor));
    OK(nd_reactor_add(reactor, ND_PORT_SHARED, &connection));
    OK(nd_connection_accept_offer(reactor, connection, offer, length, &answer, &length));
    put(answer, length);
    free(offer);
    nd_text_free(answer);
    struct pollfd readable = {.fd = nd_reactor_fd(reactor), .events = POLLIN};
    const nd_event *events;
    for (bool goes_on = true; goes_on;) {
        NEED(poll(&readable, 1, (int)nd_reactor_due_ms(reactor)) >= 0);
        OK(nd_reactor_poll(reactor, 0, &events, &count));
        for (size_t i = 0; i < count && goes_on; i++)
            goes_on = handle(&events[i]);
    }
    NEED(first == last && nd_connection_state(reactor, connection) == ND_STATE_CONNECTED);
    nd_connection_stats stats;
    OK(nd_connection_get_stats(reactor, connection, &stats));
    NEED(stats.data_channels_closed == 1);
    /* Closed by the peer, or over already. */
    nd_reactor_free(reactor);
    return 0;
}
