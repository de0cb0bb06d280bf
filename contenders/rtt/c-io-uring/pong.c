/* pong: all sockets use one ring. An echo and the next receive on its socket are submitted as linked entries, so that the
* buffer is not overwritten before the echo is sent. */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct peer {
    int fd;
    size_t received; /* length of a partial message (TCP) */
    uint8_t *message;
    /* UDP only */
    struct msghdr in, out;
    struct iovec in_space, out_space;
    struct sockaddr_storage from;
};

struct loop {
    struct nd_rtt *rtt;
    struct io_uring *ring;
    int socket;
    uint32_t count;
    struct peer *peers; /* with UDP, a single one */
};

static void queue_accept(struct loop *loop) {
    struct io_uring_sqe *entry = ring_entry(loop->ring);
    io_uring_prep_accept(entry, loop->socket, NULL, NULL, SOCK_CLOEXEC);
    io_uring_sqe_set_data64(entry, ring_key(0, RING_ACCEPT));
}

static void queue_receive(struct loop *loop, uint32_t index) {
    struct peer *peer = &loop->peers[index];
    struct io_uring_sqe *entry = ring_entry(loop->ring);
    if (loop->rtt->tcp) {
        size_t wanted = loop->rtt->message_bytes - peer->received;
        io_uring_prep_recv(entry, peer->fd, peer->message + peer->received, wanted, MSG_WAITALL);
    } else {
        peer->in.msg_namelen = sizeof peer->from;
        io_uring_prep_recvmsg(entry, peer->fd, &peer->in, 0);
    }
    io_uring_sqe_set_data64(entry, ring_key(index, RING_RECEIVE));
}

/* A send completes only with an error, which cancels the linked receive. */
static void queue_echo(struct loop *loop, uint32_t index, size_t length) {
    struct peer *peer = &loop->peers[index];
    struct io_uring_sqe *entry = ring_entry(loop->ring);
    if (loop->rtt->tcp) {
        io_uring_prep_send(entry, peer->fd, peer->message, length, MSG_WAITALL);
    } else {
        peer->out.msg_namelen = peer->in.msg_namelen;
        peer->out_space.iov_len = length;
        io_uring_prep_sendmsg(entry, peer->fd, &peer->out, 0);
    }
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK;
    io_uring_sqe_set_data64(entry, ring_key(index, RING_SEND));
    nd_pong_count(loop->rtt, length);
    queue_receive(loop, index);
}

static void accepted(struct loop *loop, int result) {
    if (result < 0 && !nd_pong_error_is_harmless(-result))
        nd_failed("accept: %s", strerror(-result));
    if (result >= 0) {
        struct peer *peer = &loop->peers[loop->count];
        nd_pong_accepted(result);
        *peer = (struct peer){.fd = result, .message = malloc(loop->rtt->message_bytes)};
        if (peer->message == NULL)
            nd_failed("out of memory (connection)");
        queue_receive(loop, loop->count++);
    }
    if (loop->count < loop->rtt->outstanding) /* the number of lanes */
        queue_accept(loop);
}

/* ping has ended: with TCP, the connection is closed; with UDP, a datagram is lost. pong continues. */
static void ended(struct loop *loop, uint32_t index, int error) {
    struct peer *peer = &loop->peers[index];
    if (!nd_pong_error_is_harmless(error))
        nd_failed("socket %u: %s", index, strerror(error));
    if (!loop->rtt->tcp) {
        queue_receive(loop, index);
        return;
    }
    close(peer->fd);
    free(peer->message);
}

static void received(struct loop *loop, uint32_t index, int result) {
    struct peer *peer = &loop->peers[index];
    if (result < 0 || (result == 0 && loop->rtt->tcp)) {
        ended(loop, index, -result);
        return;
    }
    size_t length = peer->received + (size_t)result;
    if (loop->rtt->tcp && length < loop->rtt->message_bytes) {
        peer->received = length;
        queue_receive(loop, index);
        return;
    }
    peer->received = 0;
    nd_pong_delay(loop->rtt);
    queue_echo(loop, index, length);
}

static void completed(struct loop *loop, const struct io_uring_cqe *completion) {
    uint32_t index = ring_index(completion->user_data);
    switch (ring_operation(completion->user_data)) {
    case RING_ACCEPT:
        accepted(loop, completion->res);
        break;
    case RING_RECEIVE:
        received(loop, index, completion->res);
        break;
    default: /* an echo that failed or was truncated */
        ended(loop, index, completion->res < 0 ? -completion->res : 0);
    }
}

static void open_datagrams(struct loop *loop) {
    static uint8_t datagram[ND_DATAGRAM_BYTES_MAX];
    struct peer *peer = &loop->peers[0];
    peer->fd = loop->socket;
    peer->message = datagram;
    peer->in_space = (struct iovec){datagram, sizeof datagram};
    peer->out_space = (struct iovec){datagram, 0};
    peer->in = (struct msghdr){.msg_name = &peer->from, .msg_iov = &peer->in_space, .msg_iovlen = 1};
    peer->out = (struct msghdr){.msg_name = &peer->from, .msg_iov = &peer->out_space, .msg_iovlen = 1};
    queue_receive(loop, 0);
}

void run_pong(struct nd_rtt *rtt, struct io_uring *ring) {
    struct loop loop = {.rtt = rtt, .ring = ring, .peers = calloc(rtt->outstanding, sizeof *loop.peers)};
    if (loop.peers == NULL)
        nd_failed("out of memory (%u connections)", rtt->outstanding);
    loop.socket = nd_pong_open(rtt);
    if (rtt->tcp)
        queue_accept(&loop);
    else
        open_datagrams(&loop);
    for (;;) {
        struct io_uring_cqe *completion;
        unsigned head, count = 0;
        int result = io_uring_submit_and_wait(ring, 1);
        if (result < 0 && result != -EINTR)
            nd_failed("io_uring_enter: %s", strerror(-result));
        io_uring_for_each_cqe(ring, head, completion) {
            completed(&loop, completion);
            count++;
        }
        io_uring_cq_advance(ring, count);
    }
}
