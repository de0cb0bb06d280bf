/* Tests of both roles of `echonet` without sockets. */
#include "check.h"
#include "echonet.h"

#include <string.h>

static const uint8_t IDENTIFIER[] = {0x54, 0x30, 0x1a, 0x43, 0x35, 0x24, 0x37, 0x2b, 0x04, 0x84, 0x5c, 0x1c, 0xdd};

struct value {
    size_t length;
    uint8_t bytes[32];
};

/* The value of a property as specified by the contract, for seed 1. */
static struct value value_of(uint32_t index) {
    static const struct value values[ND_ROUND] = {
        {1, {0x30}}, {4, {1, 13, 1, 0}}, {0, {0}}, {3, {0, 0, 0x0b}}, {1, {0}}, {3, {2, 0x80, 0xd5}},
        {8, {7, 0x80, 0x82, 0x83, 0x8a, 0x9d, 0x9e, 0x9f}}, {3, {0, 0, 1}}, {2, {0, 2}}, {4, {1, 2, 0x91, 1}},
        {3, {1, 2, 0x91}}, {1, {0x30}},
    };
    struct value value = values[index];
    if (index == 2) {
        static struct nd_echonet net;
        net.setup.seed = 1;
        nd_device_identification(&net, value.bytes);
        value.length = ND_IDENTIFICATION_BYTES;
    }
    return value;
}

static uint32_t index_of(const struct nd_property *property) {
    for (uint32_t i = 0; i < ND_ROUND; i++)
        if (memcmp(&nd_reads[i], property, sizeof *property) == 0)
            return i;
    CHECK(false, "no such read");
    return 0;
}

static bool passes(uint32_t index, const uint8_t *value, size_t length) {
    char why[1024];
    return nd_value_check(&nd_reads[index], value, length, 1, why, sizeof why) == NULL;
}

static void test_values(void) {
    CHECK(memcmp(value_of(2).bytes + 4, IDENTIFIER, sizeof IDENTIFIER) == 0, "the test vector of the contract");
    for (uint32_t i = 0; i < ND_ROUND; i++) {
        struct value value = value_of(i);
        CHECK(passes(i, value.bytes, value.length), "read %u", i);
        CHECK(!passes(i, value.bytes, value.length - 1), "read %u, truncated", i);
        CHECK(!passes(i, value.bytes, value.length + 1), "read %u, one byte more", i);
        const uint8_t epc = nd_reads[i].epc;
        for (size_t at = 0; at < value.length; at++) {
            struct value other = value;
            other.bytes[at] ^= 0x80;
            bool by_form = epc == 0x82 || epc == 0x8a || (epc == 0x83 && at >= 1 && at <= 3);
            CHECK(by_form == passes(i, other.bytes, other.length), "read %u, byte %zu", i, at);
        }
    }
    uint8_t bitmap[17] = {16, 1, [3] = 1, [4] = 1, [11] = 1, [14] = 2, [15] = 2, [16] = 2};
    CHECK(passes(6, bitmap, sizeof bitmap), "the longer form");
    CHECK(!passes(6, bitmap, sizeof bitmap - 1), "the longer form, truncated");
    bitmap[11] = 0;
    CHECK(!passes(6, bitmap, sizeof bitmap), "without 8A");
    CHECK(passes(10, (const uint8_t *)"\2\2\x91\x0e\xf0", 5) && passes(10, (const uint8_t *)"\2\x0e\xf0\2\x91", 5),
          "the node profile counted as a class");
    CHECK(nd_value_is_same(&nd_reads[4], (const uint8_t *)"\2\x80\xd5", 3, (const uint8_t *)"\2\xd5\x80", 3), "different order");
    CHECK(!nd_value_is_same(&nd_reads[4], (const uint8_t *)"\2\x80\xd5", 3, (const uint8_t *)"\2\x81\xd5", 3), "different code");
    CHECK(!nd_value_is_same(&nd_reads[7], (const uint8_t *)"\0\1\0", 3, (const uint8_t *)"\0\0\1", 3), "not a map");
    char why[256];
    CHECK(strcmp(nd_value_check(&nd_reads[10], (const uint8_t *)"\0", 1, 1, why, sizeof why),
                 "node profile D7 is [00], expected [01 02 91]") == 0, "%s", why);
}

/* A controller in the warm-up, after `verify`. */
static void begin(struct nd_echonet *net, uint32_t outstanding) {
    struct nd_read read, another;
    memset(net, 0, sizeof *net);
    net->controller = true;
    net->setup.seed = 1;
    net->outstanding = net->free_count = outstanding;
    net->timeout_ns = ND_NS_PER_S;
    net->measure_at_ns = UINT64_C(1) << 63;
    net->latency = calloc(1, sizeof *net->latency);
    pthread_mutex_init(&net->lock, NULL);
    pthread_cond_init(&net->changed, NULL);
    for (uint32_t i = 0; i < outstanding; i++) {
        net->places[i].index = -1;
        net->free[i] = (uint8_t)i;
    }
    net->phase = ND_PHASE_WARMUP;
    for (uint32_t i = 0; i < ND_ROUND; i++) {
        CHECK(nd_read_next(net, &read) && index_of(&read.property) == i, "read %u of verify", i);
        CHECK(!nd_read_next(net, &another), "verify allows one outstanding read");
        struct value value = value_of(i);
        CHECK(nd_read_answered(net, read.tid, value.bytes, value.length, 1), "read %u of verify", i);
    }
    CHECK(net->reads == 0, "verify counts nothing");
}

static bool answer(struct nd_echonet *net, const struct nd_read *read, uint64_t at_ns) {
    struct value value = value_of(index_of(&read->property));
    return nd_read_answered(net, read->tid, value.bytes, value.length, at_ns);
}

static void test_rounds(uint32_t outstanding) {
    static struct nd_echonet net;
    struct nd_read pending[ND_OUTSTANDING_MAX];
    uint32_t count = 0, sent = 0;
    begin(&net, outstanding);
    for (uint32_t n = 0; n < 1000; n++) {
        while (nd_read_next(&net, &pending[count])) {
            CHECK(pending[count].tid != 0 && index_of(&pending[count].property) == sent++ % ND_ROUND, "the order");
            for (uint32_t i = 0; i < count; i++)
                CHECK(pending[i].tid != pending[count].tid, "duplicate number");
            nd_read_sent(&net, pending[count++].tid, n);
        }
        CHECK(count == outstanding, "%u outstanding", count);
        uint32_t which = n * 7 % count; /* answers in another order than that of the requests */
        struct nd_read read = pending[which];
        pending[which] = pending[--count];
        CHECK(nd_read_outstanding(&net, read.tid) != NULL, "the read is outstanding");
        CHECK(answer(&net, &read, n) && !answer(&net, &read, n), "once, then late");
        CHECK(nd_read_outstanding(&net, read.tid) == NULL, "the read is finished");
    }
    CHECK(net.reads == 1000 && net.wrong == 0 && net.lost == 0 && net.late == 1000, "counters");
}

static void test_wrong_and_lost(void) {
    static struct nd_echonet net;
    struct nd_read first, second, third;
    begin(&net, 1);
    CHECK(nd_read_next(&net, &first) && nd_read_answered(&net, first.tid, (const uint8_t *)"\x31", 1, 1), "another value");
    CHECK(nd_read_next(&net, &first) && nd_read_answered(&net, first.tid, NULL, 0, 1), "a refusal");
    CHECK(net.reads == 2 && net.bytes == 1 && net.wrong == 2, "both are wrong");
    begin(&net, 2);
    CHECK(nd_read_next(&net, &first) && nd_read_next(&net, &second), "two outstanding reads");
    nd_read_sent(&net, first.tid, 0);
    nd_read_sent(&net, second.tid, 900 * ND_NS_PER_MS);
    nd_read_expire(&net, ND_NS_PER_S - 1);
    CHECK(net.lost == 0 && !nd_read_next(&net, &third), "none is lost yet");
    CHECK(answer(&net, &second, 1100 * ND_NS_PER_MS) && net.lost == 1, "an answer triggers the check for losses");
    CHECK(nd_read_next(&net, &second) && index_of(&second.property) == 2, "the next follows");
    CHECK(!answer(&net, &first, 1100 * ND_NS_PER_MS) && net.late == 1, "the answer to a lost read is late");
}

int main(void) {
    test_values();
    test_rounds(1);
    test_rounds(3);
    test_rounds(ND_OUTSTANDING_MAX);
    test_wrong_and_lost();
    return 0;
}
