/* Sockets of both roles, the hello, and messages over non-blocking sockets. */
#include "rtt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
};

static struct address parse(const char *text, uint16_t port) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM}, *found;
    struct address address;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int error = getaddrinfo(text, service, &hints, &found);
    if (error != 0)
        nd_failed("invalid address %.64s: %s", text, gai_strerror(error));
    memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
    address.length = found->ai_addrlen;
    freeaddrinfo(found);
    return address;
}

static int new_socket(const struct nd_rtt *rtt, const struct address *address) {
    int fd = socket(address->storage.ss_family, (rtt->tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
    if (fd < 0)
        nd_failed("cannot create a socket: %s", strerror(errno));
    return fd;
}

static void set_no_delay(int fd) {
    int yes = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0)
        nd_failed("TCP_NODELAY: %s", strerror(errno));
}

/* ---- ping ---- */

static void await_port(struct nd_rtt *rtt) {
    pthread_mutex_lock(&rtt->lock);
    while (rtt->port == 0)
        pthread_cond_wait(&rtt->changed, &rtt->lock);
    pthread_mutex_unlock(&rtt->lock);
}

static void send_hello(const struct nd_lane *lane) {
    size_t length = lane->rtt->message_bytes;
    if (send(lane->fd, lane->request, length, 0) != (ssize_t)length)
        nd_failed("lane %u: hello: %s", lane->stream, strerror(errno));
}

/* UDP loses datagrams, so a hello is retransmitted. The echoes of earlier ones are then ignored. */
static void exchange_hello(struct nd_lane *lane) {
    const struct nd_rtt *rtt = lane->rtt;
    const size_t length = rtt->message_bytes;
    const int timeout_ms = rtt->tcp ? -1 : (int)(rtt->timeout_ns / ND_NS_PER_MS);
    memset(lane->request, 0, length);
    nd_header_write(lane->request, 0, ND_HELLO_SEQUENCE);
    send_hello(lane);
    for (size_t received = 0; received < length;) {
        struct pollfd readable = {.fd = lane->fd, .events = POLLIN};
        if (poll(&readable, 1, timeout_ms) == 0) {
            send_hello(lane);
            continue;
        }
        ssize_t got = recv(lane->fd, lane->echo + received, length + !rtt->tcp - received, 0);
        if (got <= 0)
            nd_failed("lane %u: no echo of the hello: %s", lane->stream, got < 0 ? strerror(errno) : "closed");
        received = rtt->tcp ? received + (size_t)got : (size_t)got == length ? length : 0;
    }
    if (memcmp(lane->echo, lane->request, length) != 0)
        nd_failed("lane %u: the echo of the hello is wrong", lane->stream);
}

static void open_lane(struct nd_lane *lane, const struct address *local, const struct address *peer) {
    const struct nd_rtt *rtt = lane->rtt;
    uint64_t from_ns = nd_now_ns();
    lane->fd = new_socket(rtt, peer);
    if (rtt->tcp)
        set_no_delay(lane->fd);
    if (bind(lane->fd, (const struct sockaddr *)&local->storage, local->length) != 0)
        nd_failed("lane %u: bind: %s", lane->stream, strerror(errno));
    if (connect(lane->fd, (const struct sockaddr *)&peer->storage, peer->length) != 0)
        nd_failed("lane %u: connect: %s", lane->stream, strerror(errno));
    exchange_hello(lane);
    lane->setup_ns = nd_now_ns() - from_ns;
}

void nd_ping_open(struct nd_rtt *rtt) {
    uint64_t setup_ns[ND_LANES_MAX];
    await_port(rtt);
    struct address local = parse(rtt->setup.local, 0), peer = parse(rtt->setup.peer, rtt->port);
    rtt->lanes = calloc(rtt->outstanding, sizeof *rtt->lanes);
    for (uint32_t i = 0; rtt->lanes != NULL && i < rtt->outstanding; i++) {
        struct nd_lane *lane = &rtt->lanes[i];
        *lane = (struct nd_lane){.rtt = rtt, .stream = i};
        lane->request = malloc(rtt->message_bytes);
        lane->echo = malloc(rtt->message_bytes + 1);
        if (lane->request == NULL || lane->echo == NULL)
            nd_failed("out of memory (lane %u)", i);
        open_lane(lane, &local, &peer);
        setup_ns[i] = lane->setup_ns;
    }
    if (rtt->lanes == NULL)
        nd_failed("out of memory (%u lanes)", rtt->outstanding);
    nd_connected(setup_ns, rtt->outstanding);
}

/* ---- pong ---- */

int nd_pong_open(struct nd_rtt *rtt) {
    struct address local = parse(rtt->setup.local, 0);
    int fd = new_socket(rtt, &local);
    if (bind(fd, (const struct sockaddr *)&local.storage, local.length) != 0)
        nd_failed("bind: %s", strerror(errno));
    if (rtt->tcp && listen(fd, SOMAXCONN) != 0)
        nd_failed("listen: %s", strerror(errno));
    if (getsockname(fd, (struct sockaddr *)&local.storage, &local.length) != 0)
        nd_failed("getsockname: %s", strerror(errno));
    /* The port has the same offset in both address families. */
    uint16_t port = ntohs(((const struct sockaddr_in *)&local.storage)->sin_port);
    nd_signal("ping", "{\"port\":%u}", port);
    nd_connected(NULL, 0);
    return fd;
}

void nd_pong_accepted(int fd) {
    set_no_delay(fd);
}

void nd_pong_echo_datagram(struct nd_rtt *rtt, int fd) {
    static uint8_t datagram[ND_DATAGRAM_BYTES_MAX]; /* pong has one socket and one thread for it */
    struct sockaddr_storage from;
    socklen_t from_length = sizeof from;
    ssize_t got = recvfrom(fd, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &from_length);
    if (got < 0) {
        if (!nd_pong_error_is_harmless(errno))
            nd_failed("recvfrom: %s", strerror(errno));
        return;
    }
    nd_pong_delay(rtt);
    nd_pong_count(rtt, (size_t)got);
    /* If the socket buffer is full, the datagram is lost, which UDP allows. */
    ssize_t sent = sendto(fd, datagram, (size_t)got, 0, (struct sockaddr *)&from, from_length);
    if (sent != got && !nd_pong_error_is_harmless(errno))
        nd_failed("sendto: %s", strerror(errno));
}

bool nd_pong_error_is_harmless(int error) {
    switch (error) {
    case 0: /* closed */
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case ETIMEDOUT:
    case EPIPE:
        return true;
    default:
        return false;
    }
}

/* ---- messages over a blocking socket ---- */

ssize_t nd_receive_all(int fd, uint8_t *message, size_t length) {
    for (size_t received = 0; received < length;) {
        ssize_t got = recv(fd, message + received, length - received, MSG_WAITALL);
        if (got == 0)
            errno = 0;
        if (got == 0 || (got < 0 && errno != EINTR))
            return -1;
        received += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)length;
}

bool nd_send_all(int fd, const uint8_t *message, size_t length) {
    for (size_t sent = 0; sent < length;) {
        ssize_t more = send(fd, message + sent, length - sent, 0);
        if (more < 0 && errno != EINTR)
            return false;
        sent += more > 0 ? (size_t)more : 0;
    }
    return true;
}

/* ---- messages over a non-blocking socket ---- */

void nd_wire_init(struct nd_wire *wire, const struct nd_rtt *rtt, int fd) {
    *wire = (struct nd_wire){.fd = fd, .tcp = rtt->tcp, .message_bytes = rtt->message_bytes};
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        nd_failed("O_NONBLOCK: %s", strerror(errno));
}

ssize_t nd_wire_receive(struct nd_wire *wire, uint8_t *buffer) {
    /* Exactly the message of a stream, but one more byte of a datagram. */
    size_t wanted = wire->message_bytes + !wire->tcp - wire->received;
    ssize_t got = recv(wire->fd, buffer + wire->received, wanted, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? ND_WIRE_NOTHING : ND_WIRE_ENDED;
    if (!wire->tcp)
        return got;
    if (got == 0) {
        errno = 0;
        return ND_WIRE_ENDED;
    }
    wire->received += (size_t)got;
    if (wire->received < wire->message_bytes)
        return ND_WIRE_NOTHING;
    wire->received = 0;
    return (ssize_t)wire->message_bytes;
}

bool nd_wire_send(struct nd_wire *wire, const uint8_t *message) {
    ssize_t sent = send(wire->fd, message + wire->sent, wire->message_bytes - wire->sent, 0);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return false;
    if (sent > 0)
        wire->sent += (size_t)sent;
    wire->sending = wire->sent < wire->message_bytes;
    if (!wire->sending)
        wire->sent = 0;
    return true;
}
