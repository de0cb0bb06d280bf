/* The workload `echonet`, less its sockets and frames: what a contender adds is how it finds the device, sends a read and
 * takes an answer.
 *
 *     echonet.c  parameters, phases, counters; the device's side
 *     reads.c    the controller's closed loop: which read is next, what an answer is, what is lost
 *     values.c   what the twelve values must be
 *
 * device: nd_echonet_setup(&net); nd_echonet_ready(&net, name, version); make and start the node, with
 * nd_device_identification as its 83; nd_device_serves().
 *
 * controller: the same two, then nd_controller_await_device(&net); note nd_now_ns(), make sockets, discover,
 * nd_controller_found(created_ns). Then for ever:
 *
 *     while (nd_read_next(&net, &read)) { nd_read_sent(&net, read.tid, nd_now_ns()); send it }
 *     wait ND_LOOK_NS for an answer; nd_read_answered(&net, tid, value, length, nd_now_ns()), or nd_read_look(&net, nd_now_ns())
 */
#ifndef NETDYNO_ECHONET_H
#define NETDYNO_ECHONET_H

#include "netdyno.h"

#include <pthread.h>

enum {
    ND_ECHONET_PORT = 3610,
    ND_ROUND = 12,            /* reads of a round */
    ND_OUTSTANDING_MAX = 128,
    ND_IDENTIFIER_BYTES = 13, /* at the end of 83 */
    ND_IDENTIFICATION_BYTES = 17,
    ND_EDT_BYTES_MAX = 255,
};
#define ND_ECHONET_GROUP "224.0.23.0"
#define ND_LOOK_NS (100 * ND_NS_PER_MS) /* so often a loop looks whether a read is lost */

struct nd_property {
    uint8_t eoj[3], epc;
};

/* The reads of a round, in their order. */
extern const struct nd_property nd_reads[ND_ROUND];

/* A read that is to be sent. No other one under way has its number, which is of use as its TID. */
struct nd_read {
    uint16_t tid;
    struct nd_property property;
};

struct nd_place {
    uint16_t turn;
    int8_t index; /* in a round; -1: nothing is under way here */
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

    /* The controller's, of the thread that reads. */
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

/* Reads the setup; another workload, an unknown role or parameter ends the process. */
void nd_echonet_setup(struct nd_echonet *net);
/* Prints `ready`, and takes the lab's lines from then on. */
void nd_echonet_ready(struct nd_echonet *net, const char *name, const char *version);
/* Returns once the lab has started this phase. */
void nd_echonet_await(struct nd_echonet *net, enum nd_phase phase);

/* ---- device ---- */

/* The value of 83 of the node profile, where 8A is 00 00 0B. */
void nd_device_identification(const struct nd_echonet *net, uint8_t value[ND_IDENTIFICATION_BYTES]);
/* The node answers: says so. */
void nd_device_serves(void);

/* ---- controller ---- */

/* Waits until the device answers: before sockets are made. */
void nd_controller_await_device(struct nd_echonet *net);
/* The device is known; its controller began to be made at `created_ns`. */
void nd_controller_found(uint64_t created_ns);
/* The next read, if another one may be under way. Waits for the phase that it belongs to. */
bool nd_read_next(struct nd_echonet *net, struct nd_read *read);
/* It is about to be sent: the clock as it was read right before. */
void nd_read_sent(struct nd_echonet *net, uint16_t tid, uint64_t at_ns);
/* What the read of this number is of, or NULL: none such is under way. */
const struct nd_property *nd_read_under_way(const struct nd_echonet *net, uint16_t tid);
/* An answer came, and when; `value` is NULL of a refusal. False: no such read is under way, and the answer is late. */
bool nd_read_answered(struct nd_echonet *net, uint16_t tid, const uint8_t *value, size_t length, uint64_t at_ns);
/* Gives up what was sent too long ago: for who waited ND_LOOK_NS for nothing. */
void nd_read_look(struct nd_echonet *net, uint64_t now_ns);

/* Why a value does not pass, written to `why`; NULL if it does. */
const char *nd_value_check(const struct nd_property *property, const uint8_t *value, size_t length, uint64_t seed, char *why,
                           size_t room);
/* Whether a value is the same as before. One library writes a list of codes in another order each time. */
bool nd_value_is_same(const struct nd_property *property, const uint8_t *value, size_t length, const uint8_t *before,
                      size_t length_before);

#endif
