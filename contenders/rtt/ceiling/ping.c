/* ping: polls the lanes that await an echo, the clock, and the background tasks. */
#include "poller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Passes from one look at the clock for lost requests to the next: well below ND_LOOK_MS. */
enum { PASSES_PER_LOOK = 1024 };

struct loop {
    struct nd_rtt *rtt;
    struct nd_wire *wires; /* of the lanes, by stream */
    struct nd_schedule schedule;
    struct nd_polled_tasks tasks;
    struct poller poller;
    uint32_t sending;  /* lanes whose socket had no room for all of a request */
    uint32_t awaiting; /* lanes with a request under way */
    uint32_t verified; /* lanes whose verify is behind them */
    bool verify;
};

static void send_some(struct loop *loop, struct nd_lane *lane) {
    struct nd_wire *wire = &loop->wires[lane->stream];
    loop->sending -= wire->sending;
    if (!nd_wire_send(wire, lane->request))
        nd_failed("lane %u: send: %s", lane->stream, strerror(errno));
    loop->sending += wire->sending;
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

static void try_lane(struct loop *loop, struct nd_lane *lane) {
    ssize_t got = nd_wire_receive(&loop->wires[lane->stream], lane->echo);
    if (got == ND_WIRE_NOTHING)
        return;
    uint64_t at_ns = nd_now_ns();
    if (got == ND_WIRE_ENDED)
        nd_failed("lane %u: recv: %s", lane->stream, errno ? strerror(errno) : "closed");
    if (nd_lane_take(lane, lane->echo, (size_t)got, at_ns))
        settled(loop, lane, at_ns);
}

static void look_for_lost(struct loop *loop) {
    uint64_t now_ns = nd_now_ns();
    for (uint32_t i = 0; i < loop->rtt->outstanding; i++)
        if (nd_lane_give_up(&loop->rtt->lanes[i], now_ns))
            settled(loop, &loop->rtt->lanes[i], now_ns);
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

/* Until all lanes are verified, or for ever. */
static void drive(struct loop *loop, bool verify) {
    struct nd_rtt *rtt = loop->rtt;
    loop->verify = verify;
    nd_schedule_begin(&loop->schedule, rtt);
    for (uint32_t passes = 1; !verify || loop->verified < rtt->outstanding; passes++) {
        if (loop->awaiting < rtt->outstanding && loop->schedule.due_ns != UINT64_MAX)
            send_due(loop);
        for (uint32_t i = 0; loop->sending > 0 && i < rtt->outstanding; i++)
            if (loop->wires[i].sending)
                send_some(loop, &rtt->lanes[i]);
        uint32_t count = loop->awaiting > 0 ? poller_ask(&loop->poller) : 0;
        for (uint32_t i = 0; i < count; i++)
            if (rtt->lanes[loop->poller.keys[i]].awaiting || loop->poller.asks)
                try_lane(loop, &rtt->lanes[loop->poller.keys[i]]);
        if (passes % PASSES_PER_LOOK == 0)
            look_for_lost(loop);
        if (!verify)
            nd_polled_tasks_run(&loop->tasks);
    }
}

void nd_run_ping(struct nd_rtt *rtt) {
    static struct loop loop;
    nd_ping_open(rtt);
    loop.rtt = rtt;
    loop.wires = calloc(rtt->outstanding, sizeof *loop.wires);
    if (loop.wires == NULL)
        nd_failed("no memory for %u lanes", rtt->outstanding);
    poller_init(&loop.poller, rtt->outstanding);
    for (uint32_t i = 0; i < rtt->outstanding; i++) {
        nd_wire_init(&loop.wires[i], rtt, rtt->lanes[i].fd);
        poller_add(&loop.poller, rtt->lanes[i].fd);
    }
    nd_polled_tasks_init(&loop.tasks, rtt->tasks, &rtt->task_runs);
    nd_rtt_await(rtt, ND_PHASE_VERIFY);
    drive(&loop, true);
    nd_rtt_await(rtt, ND_PHASE_WARMUP);
    drive(&loop, false);
    __builtin_unreachable();
}
