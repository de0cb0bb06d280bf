/* ping: all lanes run on one thread, which waits in epoll. */
#include "rtt.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    EVENTS_MAX = 64,
    /* Keys of other descriptors; the key of a lane is its stream. */
    PACER = ND_LANES_MAX,
    LOOK,
};

struct loop {
    struct nd_rtt *rtt;
    struct nd_wire *wires; /* of the lanes, by stream */
    struct nd_schedule schedule;
    int epoll;
    int pacer;         /* a timer for the next request */
    int look;          /* a timer with the period ND_TICK_MS, which costs less than a timeout for every wait */
    uint32_t awaiting; /* lanes with an outstanding request */
    uint32_t verified; /* lanes that have completed verify */
    bool verify;
    uint64_t armed_ns; /* when the pacer expires */
};

static void watch(struct loop *loop, int operation, int fd, uint32_t events, uint32_t key) {
    struct epoll_event event = {.events = events, .data.u32 = key};
    if (epoll_ctl(loop->epoll, operation, fd, &event) != 0)
        nd_failed("epoll_ctl: %s", strerror(errno));
}

static void send_some(struct loop *loop, struct nd_lane *lane) {
    struct nd_wire *wire = &loop->wires[lane->stream];
    bool waited = wire->sending;
    if (!nd_wire_send(wire, lane->request))
        nd_failed("lane %u: send: %s", lane->stream, strerror(errno));
    if (wire->sending != waited)
        watch(loop, EPOLL_CTL_MOD, wire->fd, wire->sending ? EPOLLIN | EPOLLOUT : EPOLLIN, lane->stream);
}

static void request(struct loop *loop, struct nd_lane *lane, uint64_t sent_ns) {
    send_some(loop, lane);
    nd_lane_sent(lane, sent_ns);
    loop->awaiting++;
}

static void settled(struct loop *loop, struct nd_lane *lane, uint64_t now_ns) {
    loop->awaiting--;
    if (loop->verify && !nd_lane_verifying(lane)) {
        nd_schedule_verified(&loop->schedule, lane);
        loop->verified++;
    } else if (nd_lane_is_due(lane, now_ns)) {
        request(loop, lane, nd_now_ns());
    }
}

static void receive(struct loop *loop, struct nd_lane *lane) {
    ssize_t got = nd_wire_receive(&loop->wires[lane->stream], lane->echo);
    uint64_t at_ns = nd_now_ns();
    if (got == ND_WIRE_ENDED)
        nd_failed("lane %u: recv: %s", lane->stream, errno ? strerror(errno) : "closed");
    if (got >= 0 && nd_lane_take(lane, lane->echo, (size_t)got, at_ns))
        settled(loop, lane, at_ns);
}

static void look_for_lost(struct loop *loop) {
    uint64_t expirations, now_ns = nd_now_ns();
    /* A read rearms the event of a periodic timer. */
    if (read(loop->look, &expirations, sizeof expirations) < 0 && errno != EAGAIN)
        nd_failed("timerfd: %s", strerror(errno));
    for (uint32_t i = 0; i < loop->rtt->outstanding; i++)
        if (nd_lane_give_up(&loop->rtt->lanes[i], now_ns))
            settled(loop, &loop->rtt->lanes[i], now_ns);
}

static void set_pacer(struct loop *loop, uint64_t due_ns) {
    if (loop->armed_ns == due_ns)
        return;
    const struct itimerspec at = {.it_value = {.tv_sec = (time_t)(due_ns / ND_NS_PER_S),
                                               .tv_nsec = (long)(due_ns % ND_NS_PER_S)}};
    if (timerfd_settime(loop->pacer, TFD_TIMER_ABSTIME, &at, NULL) != 0)
        nd_failed("timerfd_settime: %s", strerror(errno));
    loop->armed_ns = due_ns;
}

/* Waits for echoes and, if a lane is idle, until the next request is due. */
static void wait(struct loop *loop, bool idle) {
    struct epoll_event events[EVENTS_MAX];
    bool spin = idle && !loop->rtt->timer_pacing;
    if (spin && loop->rtt->tasks > 0)
        sched_yield(); /* for the threads of tasks */
    if (spin && loop->awaiting == 0)
        return; /* no echo is awaited, so the caller polls the clock */
    if (idle && !spin)
        set_pacer(loop, loop->schedule.due_ns);
    int count = epoll_wait(loop->epoll, events, EVENTS_MAX, spin ? 0 : -1);
    if (count < 0 && errno != EINTR)
        nd_failed("epoll_wait: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        uint32_t key = events[i].data.u32;
        if (key == PACER)
            continue;
        if (key == LOOK) {
            look_for_lost(loop);
            continue;
        }
        if (loop->wires[key].sending)
            send_some(loop, &loop->rtt->lanes[key]);
        if (events[i].events & ~(uint32_t)EPOLLOUT)
            receive(loop, &loop->rtt->lanes[key]);
    }
}

static void send_due(struct loop *loop) {
    for (;;) {
        uint64_t now_ns = nd_now_ns();
        struct nd_lane *lane = nd_schedule_next(&loop->schedule, now_ns);
        if (lane == NULL)
            return;
        request(loop, lane, now_ns);
    }
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
            send_due(loop);
        wait(loop, is_idle(loop));
    }
}

/* UDP may lose datagrams. */
static void start_looking(struct loop *loop) {
    const struct timespec period = {.tv_nsec = ND_TICK_MS * ND_NS_PER_MS};
    const struct itimerspec every = {.it_interval = period, .it_value = period};
    if (timerfd_settime(loop->look, 0, &every, NULL) != 0)
        nd_failed("timerfd_settime: %s", strerror(errno));
    watch(loop, EPOLL_CTL_ADD, loop->look, EPOLLIN, LOOK);
}

void nd_run_ping(struct nd_rtt *rtt) {
    struct loop loop = {.rtt = rtt};
    nd_ping_open(rtt);
    loop.wires = calloc(rtt->outstanding, sizeof *loop.wires);
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
    loop.pacer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    loop.look = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop.wires == NULL || loop.epoll < 0 || loop.pacer < 0 || loop.look < 0)
        nd_failed("cannot create an epoll or a timer: %s", strerror(errno));
    for (uint32_t i = 0; i < rtt->outstanding; i++) {
        nd_wire_init(&loop.wires[i], rtt, rtt->lanes[i].fd);
        watch(&loop, EPOLL_CTL_ADD, rtt->lanes[i].fd, EPOLLIN, i);
    }
    /* Edge-triggered: setting the timer again clears its expiration, so it need not be read. */
    watch(&loop, EPOLL_CTL_ADD, loop.pacer, EPOLLIN | EPOLLET, PACER);
    if (!rtt->tcp)
        start_looking(&loop);
    nd_rtt_await(rtt, ND_PHASE_VERIFY);
    drive(&loop, true);
    nd_rtt_await(rtt, ND_PHASE_WARMUP);
    drive(&loop, false);
    __builtin_unreachable();
}
