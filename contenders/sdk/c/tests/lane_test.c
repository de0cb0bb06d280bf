/* The state machine of a lane and the schedule over all lanes, without sockets or a clock. */
#include "check.h"
#include "rtt.h"

#include <string.h>

enum { LANES_MAX = 4, BYTES = 64, VERIFY = 2 };
#define T0_NS UINT64_C(5000000000)
#define TIMEOUT_NS UINT64_C(200000000)

static struct nd_histogram latency, service, lateness;
static struct nd_lane lanes[LANES_MAX];
static uint8_t requests[LANES_MAX][BYTES];

/* A ping whose lanes have not run verify yet. */
static void make(struct nd_rtt *rtt, uint64_t rate_per_s, uint32_t outstanding) {
    memset(rtt, 0, sizeof *rtt);
    memset(lanes, 0, sizeof lanes);
    memset(&latency, 0, sizeof latency);
    memset(&service, 0, sizeof service);
    memset(&lateness, 0, sizeof lateness);
    rtt->ping = true;
    rtt->message_bytes = BYTES;
    rtt->outstanding = outstanding;
    rtt->rate_per_s = rate_per_s;
    rtt->verify_messages = VERIFY;
    rtt->timeout_ns = TIMEOUT_NS;
    rtt->warmup_at_ns = T0_NS;
    rtt->measure_at_ns = T0_NS;
    rtt->window_ns = ND_NS_PER_S;
    rtt->setup.seed = 1;
    rtt->latency = &latency;
    rtt->service = &service;
    rtt->lateness = &lateness;
    rtt->lanes = lanes;
    for (uint32_t i = 0; i < outstanding; i++) {
        lanes[i] = (struct nd_lane){.rtt = rtt, .stream = i, .request = requests[i]};
        nd_lane_begin(&lanes[i]);
    }
}

static void pass_verify(struct nd_lane *lane) {
    while (nd_lane_verifying(lane)) {
        nd_lane_sent(lane, 1);
        CHECK(nd_lane_take(lane, lane->request, BYTES, 2), "an echo in verify");
    }
    nd_lane_begin(lane);
}

static uint64_t count_of(const struct nd_histogram *histogram) {
    uint64_t count = 0;
    for (size_t i = 0; i < ND_BUCKETS; i++)
        count += nd_read(&histogram->counts[i]);
    return count;
}

/* Each row: a message that arrives while sequence VERIFY + 1 of stream 1 is awaited, and its classification. */
static void test_echoes(void) {
    static const struct {
        const char *name;
        uint64_t sequence;
        uint32_t stream;
        size_t length;
        bool awaiting, taken;
        int late, strange;
    } rows[] = {
        {"awaited echo", VERIFY + 1, 1, BYTES, true, true, 0, 0},
        {"previous echo", VERIFY, 1, BYTES, true, false, 1, 0},
        {"first echo", 0, 1, BYTES, true, false, 1, 0},
        {"a hello", ND_HELLO_SEQUENCE, 0, BYTES, true, false, 0, 0},
        {"hello of another stream", ND_HELLO_SEQUENCE, 1, BYTES, true, false, 0, 1},
        {"echo of a future request", VERIFY + 2, 1, BYTES, true, false, 0, 1},
        {"another stream's", VERIFY + 1, 2, BYTES, true, false, 0, 1},
        {"short echo", VERIFY + 1, 1, BYTES - 1, true, false, 0, 1},
        {"long echo", VERIFY + 1, 1, BYTES + 1, true, false, 0, 1},
        {"empty message", VERIFY + 1, 1, 0, true, false, 0, 1},
        {"before the request was sent", VERIFY + 1, 1, BYTES, false, false, 0, 1},
        {"late, while none is awaited", VERIFY, 1, BYTES, false, false, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct nd_rtt rtt;
        struct nd_lane *lane = &lanes[1];
        uint8_t echo[BYTES + 1] = {0};
        make(&rtt, 0, 2);
        pass_verify(lane);
        nd_lane_sent(lane, T0_NS);
        CHECK(nd_lane_take(lane, lane->request, BYTES, T0_NS + 1), "the first after verify");
        if (rows[i].awaiting)
            nd_lane_sent(lane, T0_NS + 2);
        uint64_t before = rtt.messages;
        nd_header_write(echo, rows[i].stream, rows[i].sequence);
        bool settled = nd_lane_take(lane, echo, rows[i].length, T0_NS + 3);
        CHECK(settled == rows[i].taken, "%s", rows[i].name);
        CHECK(rtt.messages - before == rows[i].taken, "%s: messages", rows[i].name);
        CHECK((int)rtt.late == rows[i].late && (int)rtt.strange == rows[i].strange, "%s: %d late, %d strange",
              rows[i].name, (int)rtt.late, (int)rtt.strange);
        CHECK(lane->awaiting == (rows[i].awaiting && !rows[i].taken), "%s: awaiting", rows[i].name);
    }
}

static void test_verify_compares_every_byte(void) {
    static struct nd_rtt rtt;
    for (size_t i = 0; i < BYTES; i++) {
        uint8_t echo[BYTES];
        make(&rtt, 0, 1);
        nd_lane_sent(&lanes[0], 1);
        memcpy(echo, lanes[0].request, BYTES);
        echo[i] ^= 1;
        CHECK(!nd_lane_take(&lanes[0], echo, BYTES, 2) && rtt.strange == 1, "byte %zu is not compared", i);
    }
}

static void test_lost(void) {
    static struct nd_rtt rtt;
    struct nd_lane *lane = &lanes[0];
    uint8_t old[BYTES];
    make(&rtt, 0, 1);
    pass_verify(lane);
    CHECK(!nd_lane_give_up(lane, T0_NS), "nothing is outstanding");
    nd_lane_sent(lane, T0_NS);
    memcpy(old, lane->request, BYTES);
    CHECK(!nd_lane_give_up(lane, T0_NS - 1), "the clock was read before the send");
    CHECK(!nd_lane_give_up(lane, T0_NS + TIMEOUT_NS - 1), "too early");
    CHECK(nd_lane_give_up(lane, T0_NS + TIMEOUT_NS), "in time");
    CHECK(rtt.lost == 1 && lane->sequence == VERIFY + 1 && !lane->awaiting, "the lane continues with the next request");
    CHECK(!nd_lane_take(lane, old, BYTES, T0_NS + TIMEOUT_NS + 1) && rtt.late == 1, "late then");
    rtt.tcp = true;
    nd_lane_sent(lane, T0_NS);
    CHECK(!nd_lane_give_up(lane, T0_NS + 10 * TIMEOUT_NS), "TCP has no timeout");
}

/* Each row: the time of an echo, and whether the histograms record it. */
static void test_window(void) {
    static const struct {
        uint64_t at_ns;
        bool recorded;
    } rows[] = {{T0_NS - 1, false},
                {T0_NS, true},
                {T0_NS + ND_NS_PER_S - 1, true},
                {T0_NS + ND_NS_PER_S, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (uint64_t rate = 0; rate <= 1000; rate += 1000) {
            static struct nd_rtt rtt;
            make(&rtt, rate, 1);
            rtt.warmup_at_ns = 1000;
            pass_verify(&lanes[0]);
            CHECK(count_of(&latency) == 0, "verify is recorded");
            nd_lane_sent(&lanes[0], 2000);
            CHECK(nd_lane_take(&lanes[0], lanes[0].request, BYTES, rows[i].at_ns), "taken");
            CHECK(count_of(&latency) == rows[i].recorded, "row %zu: latency", i);
            CHECK(count_of(&service) == (rows[i].recorded && rate > 0), "row %zu: service", i);
            CHECK(count_of(&lateness) == (rows[i].recorded && rate > 0), "row %zu: lateness", i);
        }
    }
}

static void test_latency_runs_from_due(void) {
    static struct nd_rtt rtt;
    make(&rtt, 1000, 1);
    pass_verify(&lanes[0]);
    nd_lane_sent(&lanes[0], T0_NS + 300);
    nd_lane_take(&lanes[0], lanes[0].request, BYTES, T0_NS + 1000);
    CHECK(latency.counts[1000] == 1 && service.counts[700] == 1 && lateness.counts[300] == 1, "1000 = 300 + 700");
}

/* Request n is due at t0 + floor(n * 10^9 / rate), on lane n mod lanes. */
static void test_due(void) {
    static const uint64_t rates[] = {1, 3, 7, 1000, 999983, 1000000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        static struct nd_rtt rtt;
        struct nd_schedule schedule;
        make(&rtt, rates[i], 3);
        for (int lane = 0; lane < 3; lane++)
            pass_verify(&lanes[lane]);
        nd_schedule_begin(&schedule, &rtt);
        for (uint64_t n = 0; n < 1000; n++) {
            uint64_t due_ns = T0_NS + (uint64_t)((unsigned __int128)n * ND_NS_PER_S / rates[i]);
            CHECK(nd_schedule_next(&schedule, due_ns - 1) == NULL, "request %lu is early", (unsigned long)n);
            struct nd_lane *lane = nd_schedule_next(&schedule, due_ns);
            CHECK(lane == &lanes[n % 3], "request %lu is on another lane", (unsigned long)n);
            CHECK(lane->due_ns == due_ns && lane->sequence == VERIFY + n / 3, "request %lu", (unsigned long)n);
            nd_lane_sent(lane, due_ns);
            nd_lane_take(lane, lane->request, BYTES, due_ns);
        }
    }
}

/* A lane that still awaits its echo is skipped and later sends by itself. */
static void test_late_lane(void) {
    static struct nd_rtt rtt;
    struct nd_schedule schedule;
    make(&rtt, 1000, 2);
    pass_verify(&lanes[0]);
    pass_verify(&lanes[1]);
    nd_schedule_begin(&schedule, &rtt);
    CHECK(nd_schedule_next(&schedule, T0_NS) == &lanes[0], "request 0");
    nd_lane_sent(&lanes[0], T0_NS);
    CHECK(nd_schedule_next(&schedule, T0_NS + ND_NS_PER_MS) == &lanes[1], "request 1");
    nd_lane_sent(&lanes[1], T0_NS + ND_NS_PER_MS);
    nd_lane_take(&lanes[1], lanes[1].request, BYTES, T0_NS + ND_NS_PER_MS);
    CHECK(nd_schedule_next(&schedule, T0_NS + 3 * ND_NS_PER_MS) == &lanes[1], "request 3, because 2 is blocked");
    nd_lane_sent(&lanes[1], T0_NS + 3 * ND_NS_PER_MS);
    CHECK(nd_lane_take(&lanes[0], lanes[0].request, BYTES, T0_NS + 3 * ND_NS_PER_MS), "the echo of 0");
    CHECK(nd_lane_is_due(&lanes[0], T0_NS + 3 * ND_NS_PER_MS), "request 2 is due");
    CHECK(lanes[0].due_ns == T0_NS + 2 * ND_NS_PER_MS, "the due time is in the past");
}

/* In a closed loop, the schedule contains only the first request of each lane. */
static void test_closed_loop(void) {
    static struct nd_rtt rtt;
    struct nd_schedule schedule;
    make(&rtt, 0, 2);
    pass_verify(&lanes[0]);
    pass_verify(&lanes[1]);
    nd_schedule_begin(&schedule, &rtt);
    CHECK(nd_schedule_next(&schedule, 1) == &lanes[0], "lane 0");
    CHECK(nd_schedule_next(&schedule, 1) == &lanes[1], "lane 1");
    CHECK(nd_schedule_next(&schedule, UINT64_MAX - 1) == NULL && schedule.due_ns == UINT64_MAX, "no more");
}

/* In verify, a lane starts when the previous one has finished, with and without a rate. */
static void test_verify_is_one_lane_after_the_other(void) {
    for (uint64_t rate = 0; rate <= 1000; rate += 1000) {
        static struct nd_rtt rtt;
        struct nd_schedule schedule;
        make(&rtt, rate, 3);
        nd_schedule_begin(&schedule, &rtt);
        for (int i = 0; i < 2; i++) {
            CHECK(nd_schedule_next(&schedule, 1) == &lanes[i], "lane %d", i);
            CHECK(nd_schedule_next(&schedule, UINT64_MAX - 1) == NULL, "lane %d is not alone", i);
            pass_verify(&lanes[i]);
            nd_schedule_verified(&schedule, &lanes[i]);
        }
        CHECK(nd_schedule_next(&schedule, 1) == &lanes[2], "the last lane");
    }
}

int main(void) {
    test_echoes();
    test_verify_compares_every_byte();
    test_lost();
    test_window();
    test_latency_runs_from_due();
    test_due();
    test_late_lane();
    test_closed_loop();
    test_verify_is_one_lane_after_the_other();
    return 0;
}
