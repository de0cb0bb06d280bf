/* ping: polls the lanes that await an echo, the clock, and the background tasks. */
#include "roles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Passes over the lanes from one look at the clock for lost requests to the next: well below ND_LOOK_MS. */
enum { PASSES_PER_LOOK = 256 };

struct loop {
    struct nd_rtt *rtt;
    struct nd_wire *wires; /* of the lanes, by stream */
    struct nd_schedule schedule;
    struct nd_polled_tasks tasks;
    uint32_t awaiting; /* lanes with a request under way */
    uint32_t verified; /* lanes whose verify is behind them */
    bool verify;
};

static void request(struct loop *loop, struct nd_lane *lane, uint64_t sent_ns) {
    if (!nd_wire_send(&loop->wires[lane->stream], lane->request))
        nd_failed("lane %u: send: %s", lane->stream, strerror(errno));
    nd_lane_sent(lane, sent_ns);
    loop->awaiting++;
}

static void settled(struct loop *loop, struct nd_lane *lane, uint64_t now_ns) {
    loop->awaiting--;
    if (loop->verify && !nd_lane_verifying(lane)) {
        nd_lane_verified(lane);
        loop->verified++;
    } else if (nd_lane_is_due(lane, now_ns)) {
        request(loop, lane, nd_now_ns());
    }
}

static void poll_lane(struct loop *loop, struct nd_lane *lane) {
    struct nd_wire *wire = &loop->wires[lane->stream];
    if (wire->sending && !nd_wire_send(wire, lane->request))
        nd_failed("lane %u: send: %s", lane->stream, strerror(errno));
    ssize_t got = nd_wire_receive(wire, lane->echo);
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
        for (uint32_t i = 0; loop->awaiting > 0 && i < rtt->outstanding; i++)
            if (rtt->lanes[i].awaiting)
                poll_lane(loop, &rtt->lanes[i]);
        if (passes % PASSES_PER_LOOK == 0)
            look_for_lost(loop);
        if (!verify)
            nd_polled_tasks_run(&loop->tasks);
    }
}

void run_ping(struct nd_rtt *rtt) {
    struct loop loop = {.rtt = rtt};
    nd_ping_open(rtt);
    loop.wires = calloc(rtt->outstanding, sizeof *loop.wires);
    if (loop.wires == NULL)
        nd_failed("no memory for %u lanes", rtt->outstanding);
    for (uint32_t i = 0; i < rtt->outstanding; i++)
        nd_wire_init(&loop.wires[i], rtt, rtt->lanes[i].fd);
    nd_polled_tasks_init(&loop.tasks, rtt->tasks, &rtt->task_runs);
    nd_rtt_await(rtt, ND_PHASE_VERIFY);
    drive(&loop, true);
    nd_rtt_await(rtt, ND_PHASE_WARMUP);
    drive(&loop, false);
    __builtin_unreachable();
}
