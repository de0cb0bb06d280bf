/* ping: all lanes use one ring. One system call submits the ready sends and waits for an echo. */
#include "ring.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct lane_state {
    bool receiving;  /* a receive is pending */
    size_t received; /* length of a partial echo (TCP) */
};

struct loop {
    struct nd_rtt *rtt;
    struct io_uring *ring;
    struct lane_state *states; /* of the lanes, by stream */
    struct nd_schedule schedule;
    struct nd_lane *queued[ND_LANES_MAX]; /* lanes whose requests are sent by the next submission */
    uint32_t queued_count;
    uint32_t awaiting; /* lanes with an outstanding or queued request */
    uint32_t verified; /* lanes that have completed verify */
    bool verify, pacer_set;
    struct __kernel_timespec pacer, look; /* the kernel reads them at submission */
};

static void queue_receive(struct loop *loop, struct nd_lane *lane, unsigned hints) {
    struct lane_state *state = &loop->states[lane->stream];
    const bool tcp = loop->rtt->tcp;
    size_t wanted = loop->rtt->message_bytes + !tcp - state->received;
    struct io_uring_sqe *entry = ring_entry(loop->ring);
    io_uring_prep_recv(entry, lane->fd, lane->echo + state->received, wanted, tcp ? MSG_WAITALL : 0);
    entry->ioprio |= (uint16_t)hints;
    io_uring_sqe_set_data64(entry, ring_key(lane->stream, RING_RECEIVE));
    state->receiving = true;
}

static void queue_request(struct loop *loop, struct nd_lane *lane, uint64_t now_ns) {
    struct io_uring_sqe *entry = ring_entry(loop->ring);
    io_uring_prep_send(entry, lane->fd, lane->request, loop->rtt->message_bytes, loop->rtt->tcp ? MSG_WAITALL : 0);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(entry, ring_key(lane->stream, RING_SEND));
    /* A pending receive of a lost echo serves the next request. The socket is empty, so the ring should not try before waiting. */
    if (!loop->states[lane->stream].receiving)
        queue_receive(loop, lane, IORING_RECVSEND_POLL_FIRST);
    loop->queued[loop->queued_count++] = lane;
    nd_lane_sent(lane, now_ns); /* outstanding from here on; the time is updated at submission */
    loop->awaiting++;
}

static void settled(struct loop *loop, struct nd_lane *lane, uint64_t now_ns) {
    loop->awaiting--;
    if (loop->verify && !nd_lane_verifying(lane)) {
        nd_schedule_verified(&loop->schedule, lane);
        loop->verified++;
    } else if (nd_lane_is_due(lane, now_ns)) {
        queue_request(loop, lane, now_ns);
    }
}

static void received(struct loop *loop, struct nd_lane *lane, int result, uint64_t at_ns) {
    struct lane_state *state = &loop->states[lane->stream];
    const bool tcp = loop->rtt->tcp;
    state->receiving = false;
    if (result < 0 || (tcp && result == 0))
        nd_failed("lane %u: recv: %s", lane->stream, result < 0 ? strerror(-result) : "closed");
    state->received += (size_t)result;
    if (!tcp || state->received == loop->rtt->message_bytes) {
        size_t length = state->received;
        state->received = 0;
        if (nd_lane_take(lane, lane->echo, length, at_ns))
            settled(loop, lane, at_ns);
    }
    if (lane->awaiting && !state->receiving)
        queue_receive(loop, lane, 0);
}

static void queue_look(struct loop *loop) {
    loop->look = (struct __kernel_timespec){.tv_nsec = ND_TICK_MS * ND_NS_PER_MS};
    struct io_uring_sqe *entry = ring_entry(loop->ring);
    io_uring_prep_timeout(entry, &loop->look, 0, 0);
    io_uring_sqe_set_data64(entry, ring_key(0, RING_LOOK));
}

static void look_for_lost(struct loop *loop, uint64_t now_ns) {
    for (uint32_t i = 0; i < loop->rtt->outstanding; i++)
        if (nd_lane_give_up(&loop->rtt->lanes[i], now_ns))
            settled(loop, &loop->rtt->lanes[i], now_ns);
    queue_look(loop);
}

static void queue_pacer(struct loop *loop) {
    uint64_t due_ns = loop->schedule.due_ns;
    loop->pacer = (struct __kernel_timespec){.tv_sec = (long long)(due_ns / ND_NS_PER_S),
                                             .tv_nsec = (long long)(due_ns % ND_NS_PER_S)};
    struct io_uring_sqe *entry = ring_entry(loop->ring);
    io_uring_prep_timeout(entry, &loop->pacer, 0, IORING_TIMEOUT_ABS);
    io_uring_sqe_set_data64(entry, ring_key(0, RING_PACER));
    loop->pacer_set = true;
}

static void completed(struct loop *loop, const struct io_uring_cqe *completion, uint64_t at_ns) {
    struct nd_lane *lane = &loop->rtt->lanes[ring_index(completion->user_data)];
    switch (ring_operation(completion->user_data)) {
    case RING_RECEIVE:
        received(loop, lane, completion->res, at_ns);
        break;
    case RING_PACER:
        loop->pacer_set = false;
        break;
    case RING_LOOK:
        look_for_lost(loop, at_ns);
        break;
    default: /* a send, which completes only with an error */
        nd_failed("lane %u: send: %s", lane->stream,
                  completion->res < 0 ? strerror(-completion->res) : "cut short");
    }
}

/* Submits queued entries, and waits for a completion unless a lane is idle and the clock must be polled. */
static void enter(struct loop *loop, bool wait) {
    struct io_uring_cqe *completion;
    unsigned head, count = 0;
    if (loop->queued_count > 0) {
        uint64_t sent_ns = nd_now_ns();
        for (uint32_t i = 0; i < loop->queued_count; i++)
            loop->queued[i]->sent_ns = sent_ns;
        loop->queued_count = 0;
    }
    int result = 0;
    if (wait)
        result = io_uring_submit_and_wait(loop->ring, 1);
    else if (io_uring_sq_ready(loop->ring) > 0)
        result = io_uring_submit(loop->ring);
    else if (io_uring_peek_cqe(loop->ring, &completion) != 0)
        return;
    if (result < 0 && result != -EINTR)
        nd_failed("io_uring_enter: %s", strerror(-result));
    uint64_t at_ns = nd_now_ns();
    io_uring_for_each_cqe(loop->ring, head, completion) {
        completed(loop, completion, at_ns);
        count++;
    }
    io_uring_cq_advance(loop->ring, count);
}

static void queue_due(struct loop *loop) {
    struct nd_lane *lane;
    uint64_t now_ns = nd_now_ns();
    while ((lane = nd_schedule_next(&loop->schedule, now_ns)) != NULL)
        queue_request(loop, lane, now_ns);
}

/* A lane awaits no echo, and requests are scheduled. */
static bool is_idle(const struct loop *loop) {
    return loop->awaiting < loop->rtt->outstanding && loop->schedule.due_ns != UINT64_MAX;
}

/* Runs until all lanes are verified, or forever. */
static void drive(struct loop *loop, bool verify) {
    loop->verify = verify;
    nd_schedule_begin(&loop->schedule, loop->rtt);
    while (!verify || loop->verified < loop->rtt->outstanding) {
        if (is_idle(loop))
            queue_due(loop);
        bool idle = is_idle(loop);
        if (idle && loop->rtt->timer_pacing && !loop->pacer_set)
            queue_pacer(loop);
        bool spin = idle && !loop->rtt->timer_pacing;
        if (!spin || loop->awaiting > 0) /* otherwise, only the clock is polled */
            enter(loop, !spin);
        if (spin && loop->rtt->tasks > 0 && loop->queued_count == 0)
            sched_yield(); /* for the threads of tasks, unless a request is due */
    }
}

void run_ping(struct nd_rtt *rtt, struct io_uring *ring) {
    static struct loop loop;
    nd_ping_open(rtt);
    loop.rtt = rtt;
    loop.ring = ring;
    loop.states = calloc(rtt->outstanding, sizeof *loop.states);
    if (loop.states == NULL)
        nd_failed("out of memory (%u lanes)", rtt->outstanding);
    if (!rtt->tcp) /* UDP may lose datagrams */
        queue_look(&loop);
    nd_rtt_await(rtt, ND_PHASE_VERIFY);
    drive(&loop, true);
    nd_rtt_await(rtt, ND_PHASE_WARMUP);
    drive(&loop, false);
    __builtin_unreachable();
}
