/* The workload `echonet` without sockets and frames. A contender adds the discovery of the device, the sending of reads and
* the receiving of answers.
 *
 *     echonet.c  parameters, phases, counters; the device's messages to the lab
 *     reads.c    the controller's closed loop: the next read, matching of answers, losses
 *     values.c   the checks of the twelve values
 *
 * A device calls nd_echonet_setup(&net) and nd_echonet_ready(&net, name, version), creates and starts the node with
 * nd_device_identification as its 83, and calls nd_device_serves().
 *
 * A controller calls the same two functions, then nd_controller_await_device(&net). It reads nd_now_ns(), creates sockets,
 * discovers the device, and calls nd_controller_found(created_ns). Then it runs this loop:
 *
 *     while (nd_read_next(&net, &read)) { nd_read_sent(&net, read.tid, nd_now_ns()); send it }
 *     wait at most ND_TICK_NS for an answer; nd_read_answered(&net, tid, value, length, nd_now_ns()), or
 *     nd_read_expire(&net, nd_now_ns())
 */
#ifndef NETDYNO_ECHONET_H
#define NETDYNO_ECHONET_H

#include "netdyno.h"

#include <pthread.h>

enum {
    ND_ECHONET_PORT = 3610,
    ND_ROUND = 12,            /* reads in a round */
    ND_OUTSTANDING_MAX = 128,
    ND_IDENTIFIER_BYTES = 13, /* at the end of 83 */
    ND_IDENTIFICATION_BYTES = 17,
    ND_EDT_BYTES_MAX = 255,
};
#define ND_ECHONET_GROUP "224.0.23.0"
#define ND_TICK_NS (100 * ND_NS_PER_MS) /* maximum interval at which a loop checks for lost reads */

struct nd_property {
    uint8_t eoj[3], epc;
};

/* The reads of a round, in order. */
extern const struct nd_property nd_reads[ND_ROUND];

/* A read to send. Its number is unique among outstanding reads and can be used as its TID. */
struct nd_read {
    uint16_t tid;
    struct nd_property property;
};

struct nd_place {
    uint16_t turn;
    int8_t index; /* in a round; -1 if the place is free */
    uint64_t sent_ns;
};

struct nd_value_kept {
    uint8_t length, bytes[ND_EDT_BYTES_MAX];
};

enum nd_stage { ND_STAGE_BEFORE, ND_STAGE_VERIFY, ND_STAGE_LOOP };

struct nd_echonet {
    struct nd_setup setup;
    bool controller;
    uint32_t outstanding;
    uint64_t timeout_ns, window_ns;

    /* State of the controller's reading thread. */
    struct nd_place places[ND_OUTSTANDING_MAX];
    uint8_t free[ND_OUTSTANDING_MAX];
    uint32_t free_count, next;
    enum nd_stage stage;
    uint64_t looked_ns;
    struct nd_value_kept kept[ND_ROUND];
    struct nd_histogram *latency;
    nd_counter reads, bytes, wrong, lost, late;

    struct nd_role role;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool device_is_there;
    enum nd_phase phase;
    nd_counter measure_at_ns;
};

/* Reads the setup. Another workload, or an unknown role or parameter, ends the process. */
void nd_echonet_setup(struct nd_echonet *net);
/* Prints `ready` and starts handling the lab's lines. */
void nd_echonet_ready(struct nd_echonet *net, const char *name, const char *version);
/* Waits until the lab has started this phase. */
void nd_echonet_await(struct nd_echonet *net, enum nd_phase phase);

/* ---- device ---- */

/* The value of 83 of the node profile, for the 8A 00 00 0B. */
void nd_device_identification(const struct nd_echonet *net, uint8_t value[ND_IDENTIFICATION_BYTES]);
/* Reports that the node answers. */
void nd_device_serves(void);

/* ---- controller ---- */

/* Waits for the device's signal. Call it before creating sockets. */
void nd_controller_await_device(struct nd_echonet *net);
/* Reports that the device was discovered. `created_ns` is the time right before the controller was created. */
void nd_controller_found(uint64_t created_ns);
/* Returns the next read; false if no further read may be outstanding. Waits for the phase of the read. */
bool nd_read_next(struct nd_echonet *net, struct nd_read *read);
/* Reports that a read is about to be sent. `at_ns` was read right before. */
void nd_read_sent(struct nd_echonet *net, uint16_t tid, uint64_t at_ns);
/* Returns the property of the outstanding read with this number, or NULL. */
const struct nd_property *nd_read_outstanding(const struct nd_echonet *net, uint16_t tid);
/* Records an answer. `value` is NULL for a refusal. Returns false if no such read is outstanding: the answer is late. */
bool nd_read_answered(struct nd_echonet *net, uint16_t tid, const uint8_t *value, size_t length, uint64_t at_ns);
/* Marks reads as lost that have timed out. Call it if nothing arrives for ND_TICK_NS. */
void nd_read_expire(struct nd_echonet *net, uint64_t now_ns);

/* Checks a value. Returns NULL, or the fault, written to `why`. */
const char *nd_value_check(const struct nd_property *property, const uint8_t *value, size_t length, uint64_t seed, char *why,
                           size_t room);
/* Whether a value equals an earlier one. The order of codes in a map is ignored, because one library varies it. */
bool nd_value_is_same(const struct nd_property *property, const uint8_t *value, size_t length, const uint8_t *before,
                      size_t length_before);

#endif
