/* pong: polls its sockets and the background tasks. */
#include "roles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct connection {
    struct nd_wire wire;
    uint8_t *message;
    bool open;
};

static void echo_datagram(struct nd_rtt *rtt, int fd) {
    static uint8_t datagram[ND_DATAGRAM_BYTES_MAX];
    struct sockaddr_storage from;
    socklen_t from_length = sizeof from;
    ssize_t got = recvfrom(fd, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &from_length);
    if (got < 0) {
        if (!nd_pong_error_is_harmless(errno))
            nd_failed("recvfrom: %s", strerror(errno));
        return;
    }
    nd_pong_delay(rtt);
    ssize_t sent = sendto(fd, datagram, (size_t)got, 0, (struct sockaddr *)&from, from_length);
    if (sent == got)
        nd_pong_sent(rtt, (size_t)got);
    else if (!nd_pong_error_is_harmless(errno))
        nd_failed("sendto: %s", strerror(errno));
}

static bool accept_into(struct connection *connection, struct nd_rtt *rtt, int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        if (!nd_pong_error_is_harmless(errno))
            nd_failed("accept: %s", strerror(errno));
        return false;
    }
    nd_pong_accepted(fd);
    nd_wire_init(&connection->wire, rtt, fd);
    connection->message = malloc(rtt->message_bytes);
    if (connection->message == NULL)
        nd_failed("no memory for a connection");
    connection->open = true;
    return true;
}

/* False once ping has gone, which ends this connection, not pong. */
static bool serve(struct nd_rtt *rtt, struct connection *connection) {
    struct nd_wire *wire = &connection->wire;
    if (!wire->sending) {
        ssize_t got = nd_wire_receive(wire, connection->message);
        if (got == ND_WIRE_NOTHING)
            return true;
        if (got == ND_WIRE_ENDED)
            return false;
        nd_pong_delay(rtt);
    }
    if (!nd_wire_send(wire, connection->message))
        return false;
    if (!wire->sending)
        nd_pong_sent(rtt, wire->message_bytes);
    return true;
}

void run_pong(struct nd_rtt *rtt) {
    struct nd_wire socket;
    struct nd_polled_tasks tasks;
    struct connection *connections = calloc(rtt->outstanding, sizeof *connections);
    uint32_t accepted = 0;
    if (connections == NULL)
        nd_failed("no memory for %u connections", rtt->outstanding);
    nd_polled_tasks_init(&tasks, rtt->tasks, &rtt->task_runs);
    nd_wire_init(&socket, rtt, nd_pong_open(rtt));
    for (;;) {
        if (!rtt->tcp)
            echo_datagram(rtt, socket.fd);
        else if (accepted < rtt->outstanding && accept_into(&connections[accepted], rtt, socket.fd))
            accepted++;
        for (uint32_t i = 0; i < accepted; i++) {
            if (connections[i].open && !serve(rtt, &connections[i])) {
                if (!nd_pong_error_is_harmless(errno))
                    nd_failed("a connection: %s", strerror(errno));
                close(connections[i].wire.fd);
                connections[i].open = false;
            }
        }
        if (nd_rtt_reached(rtt, ND_PHASE_WARMUP))
            nd_polled_tasks_run(&tasks);
    }
}
