/* pong: one thread, which waits in epoll. */
#include "rtt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_MAX = 64 };

struct connection {
    struct nd_wire wire;
    uint8_t *message;
};

static void watch(int epoll, int operation, int fd, uint32_t events, void *key) {
    struct epoll_event event = {.events = events, .data.ptr = key};
    if (epoll_ctl(epoll, operation, fd, &event) != 0)
        nd_failed("epoll_ctl: %s", strerror(errno));
}

static void accept_one(struct nd_rtt *rtt, int epoll, int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        if (!nd_pong_error_is_harmless(errno))
            nd_failed("accept: %s", strerror(errno));
        return;
    }
    nd_pong_accepted(fd);
    struct connection *connection = malloc(sizeof *connection);
    uint8_t *message = malloc(rtt->message_bytes);
    if (connection == NULL || message == NULL)
        nd_failed("out of memory (connection)");
    nd_wire_init(&connection->wire, rtt, fd);
    connection->message = message;
    watch(epoll, EPOLL_CTL_ADD, fd, EPOLLIN, connection);
}

/* ping has ended: close this connection, but continue. */
static void end(struct connection *connection) {
    if (!nd_pong_error_is_harmless(errno))
        nd_failed("a connection: %s", strerror(errno));
    close(connection->wire.fd);
    free(connection->message);
    free(connection);
}

static void serve(struct nd_rtt *rtt, int epoll, struct connection *connection) {
    struct nd_wire *wire = &connection->wire;
    bool waited = wire->sending;
    if (!waited) {
        ssize_t got = nd_wire_receive(wire, connection->message);
        if (got == ND_WIRE_ENDED)
            end(connection);
        if (got < 0)
            return;
        nd_pong_delay(rtt);
        nd_pong_count(rtt, wire->message_bytes);
    }
    if (!nd_wire_send(wire, connection->message)) {
        end(connection);
        return;
    }
    if (wire->sending != waited) /* pauses reading until the echo is sent */
        watch(epoll, EPOLL_CTL_MOD, wire->fd, wire->sending ? EPOLLOUT : EPOLLIN, connection);
}

void nd_run_pong(struct nd_rtt *rtt) {
    struct epoll_event events[EVENTS_MAX];
    struct nd_wire socket;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        nd_failed("epoll_create1: %s", strerror(errno));
    nd_wire_init(&socket, rtt, nd_pong_open(rtt));
    watch(epoll, EPOLL_CTL_ADD, socket.fd, EPOLLIN, NULL);
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
        if (count < 0 && errno != EINTR)
            nd_failed("epoll_wait: %s", strerror(errno));
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr != NULL)
                serve(rtt, epoll, events[i].data.ptr);
            else if (rtt->tcp)
                accept_one(rtt, epoll, socket.fd);
            else
                nd_pong_echo_datagram(rtt, socket.fd);
        }
    }
}
