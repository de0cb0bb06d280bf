/* A lane of ping without its socket: it has at most one outstanding request, which its echo or a timeout settles. */
#include "rtt.h"

#include <string.h>

static uint64_t due_ns(const struct nd_rtt *rtt, uint64_t number) {
    if (rtt->rate_per_s == 0)
        return 0;
    /* Whole seconds are computed separately, because number * 10^9 may overflow. */
    uint64_t whole_s = number / rtt->rate_per_s, rest = number % rtt->rate_per_s;
    return rtt->warmup_at_ns + whole_s * ND_NS_PER_S + rest * ND_NS_PER_S / rtt->rate_per_s;
}

void nd_lane_begin(struct nd_lane *lane) {
    const struct nd_rtt *rtt = lane->rtt;
    if (nd_lane_verifying(lane)) {
        lane->due_ns = 0;
        nd_message_fill(lane->request, rtt->message_bytes, rtt->setup.seed, lane->stream, lane->sequence);
    } else {
        uint64_t round = lane->sequence - rtt->verify_messages;
        lane->due_ns = due_ns(rtt, round * rtt->outstanding + lane->stream);
        nd_header_write(lane->request, lane->stream, lane->sequence);
    }
}

static void settle(struct nd_lane *lane) {
    lane->awaiting = false;
    lane->sequence++;
    nd_lane_begin(lane);
}

void nd_lane_sent(struct nd_lane *lane, uint64_t sent_ns) {
    lane->sent_ns = sent_ns;
    lane->awaiting = true;
    nd_add(&lane->rtt->requests, 1, lane->rtt->several_writers);
}

static void record(const struct nd_lane *lane, uint64_t at_ns) {
    const struct nd_rtt *rtt = lane->rtt;
    bool shared = rtt->several_writers;
    if (at_ns - nd_read(&rtt->measure_at_ns) >= rtt->window_ns)
        return; /* by unsigned arithmetic, an echo before the window is also beyond it */
    if (rtt->rate_per_s == 0) {
        nd_histogram_record(rtt->latency, at_ns - lane->sent_ns, shared);
    } else {
        nd_histogram_record(rtt->latency, at_ns - lane->due_ns, shared);
        nd_histogram_record(rtt->service, at_ns - lane->sent_ns, shared);
        nd_histogram_record(rtt->lateness, lane->sent_ns - lane->due_ns, shared);
    }
}

enum kind { AWAITED, LATE, HELLO, STRANGE };

static enum kind classify(const struct nd_lane *lane, const uint8_t *message, size_t length) {
    uint32_t stream;
    uint64_t sequence;
    if (length != lane->rtt->message_bytes || !nd_header_read(message, length, &stream, &sequence))
        return STRANGE;
    if (sequence == ND_HELLO_SEQUENCE && stream == 0)
        return HELLO; /* of a hello that was considered lost */
    if (stream != lane->stream || sequence > lane->sequence)
        return STRANGE;
    if (sequence < lane->sequence)
        return LATE;
    if (nd_lane_verifying(lane) && memcmp(message, lane->request, length) != 0)
        return STRANGE;
    return lane->awaiting ? AWAITED : STRANGE;
}

bool nd_lane_take(struct nd_lane *lane, const uint8_t *message, size_t length, uint64_t at_ns) {
    struct nd_rtt *rtt = lane->rtt;
    switch (classify(lane, message, length)) {
    case AWAITED:
        break;
    case LATE:
        nd_add(&rtt->late, 1, rtt->several_writers);
        return false;
    case HELLO: /* not counted */
        return false;
    case STRANGE:
        nd_add(&rtt->strange, 1, rtt->several_writers);
        if (rtt->tcp)
            nd_failed("lane %u: the stream contains wrong bytes after sequence %llu", lane->stream,
                      (unsigned long long)lane->sequence);
        return false;
    }
    if (nd_lane_verifying(lane)) {
        nd_digest_add(lane->digest, message, length);
        lane->verified++;
    }
    nd_add(&rtt->messages, 1, rtt->several_writers);
    nd_add(&rtt->bytes, length, rtt->several_writers);
    record(lane, at_ns);
    settle(lane);
    return true;
}

bool nd_lane_give_up(struct nd_lane *lane, uint64_t now_ns) {
    struct nd_rtt *rtt = lane->rtt;
    if (rtt->tcp || !lane->awaiting || now_ns < lane->sent_ns + rtt->timeout_ns)
        return false;
    nd_add(&rtt->lost, 1, rtt->several_writers);
    settle(lane);
    return true;
}

void nd_lane_verified(struct nd_lane *lane) {
    struct nd_rtt *rtt = lane->rtt;
    pthread_mutex_lock(&rtt->lock);
    for (size_t i = 0; i < ND_DIGEST_BYTES; i++)
        rtt->digest[i] ^= lane->digest[i];
    rtt->verified += lane->verified;
    if (++rtt->lanes_verified == rtt->outstanding)
        nd_verified(rtt->digest, rtt->verified, rtt->verified * rtt->message_bytes);
    pthread_mutex_unlock(&rtt->lock);
}

void nd_schedule_begin(struct nd_schedule *schedule, struct nd_rtt *rtt) {
    for (uint32_t i = 0; i < rtt->outstanding; i++)
        nd_lane_begin(&rtt->lanes[i]);
    /* After verify, all lanes have the same sequence. */
    const struct nd_lane *first = &rtt->lanes[0];
    *schedule = (struct nd_schedule){
        .rtt = rtt,
        .sequence = first->sequence,
        .due_ns = first->due_ns,
        .paced = rtt->rate_per_s > 0 && !nd_lane_verifying(first),
        .verify = nd_lane_verifying(first),
    };
}

static void advance(struct nd_schedule *schedule) {
    const struct nd_rtt *rtt = schedule->rtt;
    schedule->number++;
    if (++schedule->stream == rtt->outstanding) {
        schedule->stream = 0;
        schedule->sequence++;
    }
    if (schedule->paced)
        schedule->due_ns = due_ns(rtt, schedule->number);
    else if (schedule->stream == 0 || schedule->verify)
        schedule->due_ns = UINT64_MAX;
}

void nd_schedule_verified(struct nd_schedule *schedule, struct nd_lane *lane) {
    nd_lane_verified(lane);
    if (schedule->stream != 0)
        schedule->due_ns = 0;
}

struct nd_lane *nd_schedule_next(struct nd_schedule *schedule, uint64_t now_ns) {
    while (schedule->due_ns <= now_ns) {
        struct nd_lane *lane = &schedule->rtt->lanes[schedule->stream];
        uint64_t sequence = schedule->sequence;
        advance(schedule);
        if (!lane->awaiting && lane->sequence == sequence)
            return lane;
    }
    return NULL;
}
