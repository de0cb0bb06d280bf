/* The closed loop of reads of `echonet`. All functions are called by one thread of the contender. */
#include "echonet.h"

#include <stdio.h>
#include <string.h>

enum {
    TURNS = UINT16_MAX / ND_OUTSTANDING_MAX, /* in a TID; they count from 1, so a TID is never 0 */
    IDENTIFICATION = 2,                      /* the read whose value the gate verifies */
    WHY_BYTES = 3 * ND_EDT_BYTES_MAX + 128,
};

bool nd_read_next(struct nd_echonet *net, struct nd_read *read) {
    if (net->stage == ND_STAGE_BEFORE) {
        nd_echonet_await(net, ND_PHASE_VERIFY);
        net->stage = ND_STAGE_VERIFY;
    } else if (net->stage == ND_STAGE_VERIFY) {
        if (net->free_count < net->outstanding)
            return false; /* verify allows one outstanding read */
        if (net->next == ND_ROUND) {
            nd_echonet_await(net, ND_PHASE_WARMUP);
            net->stage = ND_STAGE_LOOP;
            net->next = 0;
        }
    }
    if (net->free_count == 0)
        return false;
    const uint8_t number = net->free[--net->free_count];
    struct nd_place *place = &net->places[number];
    const uint32_t index = net->next++;
    if (net->stage == ND_STAGE_LOOP && net->next == ND_ROUND)
        net->next = 0;
    place->turn = (uint16_t)(place->turn % TURNS + 1);
    place->index = (int8_t)index;
    read->tid = (uint16_t)(place->turn * ND_OUTSTANDING_MAX + number);
    read->property = nd_reads[index];
    return true;
}

void nd_read_sent(struct nd_echonet *net, uint16_t tid, uint64_t at_ns) {
    net->places[tid % ND_OUTSTANDING_MAX].sent_ns = at_ns;
}

static bool is_outstanding(const struct nd_echonet *net, uint16_t tid) {
    const struct nd_place *place = &net->places[tid % ND_OUTSTANDING_MAX];
    return tid % ND_OUTSTANDING_MAX < net->outstanding && place->turn == tid / ND_OUTSTANDING_MAX && place->index >= 0;
}

const struct nd_property *nd_read_outstanding(const struct nd_echonet *net, uint16_t tid) {
    return is_outstanding(net, tid) ? &nd_reads[net->places[tid % ND_OUTSTANDING_MAX].index] : NULL;
}

/* Checks and stores a value of `verify`. The last one prints `verified`. */
static void verify_value(struct nd_echonet *net, uint32_t index, const uint8_t *value, size_t length) {
    char why[WHY_BYTES];
    if (value == NULL)
        nd_failed("read %u of verify: refused or timed out", index);
    if (length > ND_EDT_BYTES_MAX ||
        nd_value_check(&nd_reads[index], value, length, net->setup.seed, why, sizeof why) != NULL)
        nd_failed("%s", why);
    struct nd_value_kept *kept = &net->kept[index];
    kept->length = (uint8_t)length;
    memcpy(kept->bytes, value, length);
    if (index == ND_ROUND - 1) {
        const struct nd_value_kept *own = &net->kept[IDENTIFICATION];
        uint8_t digest[ND_DIGEST_BYTES] = {0};
        nd_digest_add(digest, own->bytes + own->length - ND_IDENTIFIER_BYTES, ND_IDENTIFIER_BYTES);
        nd_verified(digest, 1, ND_IDENTIFIER_BYTES);
    }
}

/* Records the outcome of a read after `verify`. */
static void record(struct nd_echonet *net, uint32_t index, const uint8_t *value, size_t length, uint64_t sent_ns,
                 uint64_t at_ns) {
    const struct nd_value_kept *kept = &net->kept[index];
    if (value == NULL || !nd_value_is_same(&nd_reads[index], value, length, kept->bytes, kept->length)) {
        if (nd_read(&net->wrong) == 0)
            fprintf(stderr, "read %u: %s verify\n", index, value == NULL ? "refused, unlike in" : "the value differs from that of");
        nd_add(&net->wrong, 1, false);
    }
    nd_add(&net->bytes, length, false);
    nd_add(&net->reads, 1, false);
    if (at_ns - nd_read(&net->measure_at_ns) < net->window_ns)
        nd_histogram_record(net->latency, at_ns - sent_ns, false);
}

static uint32_t settle(struct nd_echonet *net, uint32_t number) {
    struct nd_place *place = &net->places[number];
    uint32_t index = (uint32_t)place->index;
    place->index = -1;
    net->free[net->free_count++] = (uint8_t)number;
    return index;
}

bool nd_read_answered(struct nd_echonet *net, uint16_t tid, const uint8_t *value, size_t length, uint64_t at_ns) {
    if (!is_outstanding(net, tid)) {
        nd_add(&net->late, 1, false);
        return false;
    }
    const uint32_t number = tid % ND_OUTSTANDING_MAX;
    const uint32_t index = settle(net, number);
    if (net->stage == ND_STAGE_LOOP)
        record(net, index, value, value == NULL ? 0 : length, net->places[number].sent_ns, at_ns);
    else
        verify_value(net, index, value, length);
    if (at_ns - net->looked_ns >= ND_TICK_NS)
        nd_read_expire(net, at_ns); /* if answers keep arriving, the loop never waits for a tick */
    return true;
}

void nd_read_expire(struct nd_echonet *net, uint64_t now_ns) {
    net->looked_ns = now_ns;
    for (uint32_t i = 0; i < net->outstanding; i++) {
        if (net->places[i].index < 0 || now_ns - net->places[i].sent_ns < net->timeout_ns)
            continue;
        const uint32_t index = settle(net, i);
        if (net->stage != ND_STAGE_LOOP)
            verify_value(net, index, NULL, 0);
        nd_add(&net->lost, 1, false);
    }
}
