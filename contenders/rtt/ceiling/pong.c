/* pong: polls its sockets and the background tasks. */
#include "poller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct connection {
    struct nd_wire wire;
    uint8_t *message;
    bool open;
};

struct streams {
    struct nd_rtt *rtt;
    int listener;
    struct poller poller;
    struct connection *connections; /* poller.count of them */
    uint32_t sending;               /* connections whose socket had no room for all of an echo */
};

/* Until all are there: ping opens no more. */
static void accept_one(struct streams *streams) {
    struct connection *connection = &streams->connections[streams->poller.count];
    int fd = accept4(streams->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        if (!nd_pong_error_is_harmless(errno))
            nd_failed("accept: %s", strerror(errno));
        return;
    }
    nd_pong_accepted(fd);
    nd_wire_init(&connection->wire, streams->rtt, fd);
    connection->message = malloc(streams->rtt->message_bytes);
    if (connection->message == NULL)
        nd_failed("no memory for a connection");
    connection->open = true;
    poller_add(&streams->poller, fd);
}

/* ping has gone: that ends this connection, not pong. */
static void end(struct connection *connection) {
    if (!nd_pong_error_is_harmless(errno))
        nd_failed("a connection: %s", strerror(errno));
    close(connection->wire.fd);
    connection->open = false;
}

static void send_some(struct streams *streams, struct connection *connection) {
    struct nd_wire *wire = &connection->wire;
    streams->sending -= wire->sending;
    if (!nd_wire_send(wire, connection->message)) {
        end(connection);
        return;
    }
    streams->sending += wire->sending;
}

static void try_stream(struct streams *streams, struct connection *connection) {
    if (!connection->open || connection->wire.sending) /* reads no further before the echo is out */
        return;
    ssize_t got = nd_wire_receive(&connection->wire, connection->message);
    if (got == ND_WIRE_ENDED)
        end(connection);
    if (got < 0)
        return;
    nd_pong_delay(streams->rtt);
    nd_pong_count(streams->rtt, connection->wire.message_bytes);
    send_some(streams, connection);
}

static void echo_streams(struct streams *streams) {
    if (streams->poller.count < streams->rtt->outstanding)
        accept_one(streams);
    for (uint32_t i = 0; streams->sending > 0 && i < streams->poller.count; i++)
        if (streams->connections[i].open && streams->connections[i].wire.sending)
            send_some(streams, &streams->connections[i]);
    uint32_t count = poller_ask(&streams->poller);
    for (uint32_t i = 0; i < count; i++)
        try_stream(streams, &streams->connections[streams->poller.keys[i]]);
}

void nd_run_pong(struct nd_rtt *rtt) {
    static struct streams streams;
    struct nd_wire socket;
    struct nd_polled_tasks tasks;
    nd_polled_tasks_init(&tasks, rtt->tasks, &rtt->task_runs);
    nd_wire_init(&socket, rtt, nd_pong_open(rtt));
    streams.rtt = rtt;
    streams.listener = socket.fd;
    streams.connections = calloc(rtt->outstanding, sizeof *streams.connections);
    if (streams.connections == NULL)
        nd_failed("no memory for %u connections", rtt->outstanding);
    poller_init(&streams.poller, rtt->outstanding);
    for (;;) {
        if (rtt->tcp)
            echo_streams(&streams);
        else
            nd_pong_echo_datagram(rtt, socket.fd);
        if (nd_rtt_reached(rtt, ND_PHASE_WARMUP))
            nd_polled_tasks_run(&tasks);
    }
}
