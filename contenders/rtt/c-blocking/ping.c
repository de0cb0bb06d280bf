/* ping: a thread a lane, the main thread for the first. */
#include "rtt.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/time.h>

enum { STACK_BYTES = 128 << 10 };

/* UDP only: the wait for an echo ends now and then, to see whether it is lost. */
static void set_receive_timeout(int fd) {
    const struct timeval timeout = {.tv_usec = ND_TICK_MS * 1000};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0)
        nd_failed("SO_RCVTIMEO: %s", strerror(errno));
}

/* Until the request is settled. */
static void await_echo(struct nd_lane *lane) {
    const size_t length = lane->rtt->message_bytes;
    for (;;) {
        ssize_t got = lane->rtt->tcp ? nd_receive_all(lane->fd, lane->echo, length)
                                     : recv(lane->fd, lane->echo, length + 1, 0);
        uint64_t at_ns = nd_now_ns();
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (nd_lane_give_up(lane, at_ns))
                return;
        } else if (got < 0) {
            nd_failed("lane %u: recv: %s", lane->stream, errno ? strerror(errno) : "closed");
        } else if (nd_lane_take(lane, lane->echo, (size_t)got, at_ns)) {
            return;
        }
    }
}

static void request(struct nd_lane *lane, uint64_t sent_ns) {
    if (!nd_send_all(lane->fd, lane->request, lane->rtt->message_bytes))
        nd_failed("lane %u: send: %s", lane->stream, strerror(errno));
    nd_lane_sent(lane, sent_ns);
    await_echo(lane);
}

/* Returns the time at which it returns. */
static uint64_t wait_until_due(const struct nd_lane *lane) {
    const struct nd_rtt *rtt = lane->rtt;
    uint64_t now_ns = nd_now_ns();
    if (rtt->timer_pacing && !nd_lane_is_due(lane, now_ns)) {
        const struct timespec due = {.tv_sec = (time_t)(lane->due_ns / ND_NS_PER_S),
                                     .tv_nsec = (long)(lane->due_ns % ND_NS_PER_S)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            ;
        return nd_now_ns();
    }
    while (!nd_lane_is_due(lane, now_ns)) {
        if (rtt->outstanding > 1 || rtt->tasks > 0)
            sched_yield(); /* to the threads of other lanes and of tasks */
        now_ns = nd_now_ns();
    }
    return now_ns;
}

static void verify(struct nd_lane *lane) {
    if (!lane->rtt->tcp)
        set_receive_timeout(lane->fd);
    nd_lane_begin(lane);
    while (nd_lane_verifying(lane))
        request(lane, nd_now_ns());
    nd_lane_verified(lane);
}

static void *run_lane(void *argument) {
    struct nd_lane *lane = argument;
    nd_rtt_await(lane->rtt, ND_PHASE_WARMUP);
    nd_lane_begin(lane);
    for (;;)
        request(lane, wait_until_due(lane));
    return NULL;
}

void nd_run_ping(struct nd_rtt *rtt) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    nd_ping_open(rtt);
    rtt->several_writers = rtt->outstanding > 1;
    for (uint32_t i = 1; i < rtt->outstanding; i++) {
        pthread_t thread;
        int error = pthread_create(&thread, &small, run_lane, &rtt->lanes[i]);
        if (error != 0)
            nd_failed("a thread for lane %u: %s", i, strerror(error));
    }
    nd_rtt_await(rtt, ND_PHASE_VERIFY);
    /* One after the other: all at once could overflow pong's one socket, and verify may lose nothing. */
    for (uint32_t i = 0; i < rtt->outstanding; i++)
        verify(&rtt->lanes[i]);
    run_lane(&rtt->lanes[0]);
    __builtin_unreachable();
}
