/* A contender's side of the Netdyno contender protocol, version 1, in C.
 *
 *     lab.c        reads the lab's lines and answers marks and the stop, on a thread of its own
 *     say.c        prints lines
 *     payload.c    what a message consists of, and the digest of a set of messages
 *     histogram.c  latencies, HDR with three significant digits
 *     tasks.c      background tasks
 *
 * What the workloads `rtt`, `echonet` and `mjpeg` need beyond that stands in rtt.h, echonet.h and mjpeg.h. There is one lab a process, so it is no argument.
 * Every function may be called from any thread where nothing else is said.
 */
#ifndef NETDYNO_H
#define NETDYNO_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <time.h>

enum {
    ND_PROTOCOL_VERSION = 1,
    ND_LINE_BYTES_MAX = 1 << 20, /* of the protocol, the newline left out */
    ND_VALUES_MAX = 16,          /* counters of one role */
    ND_REASON_BYTES_MAX = 512,   /* of `failed` and `unsupported` */
    ND_HEADER_BYTES = 16,
    ND_DIGEST_BYTES = 32,
    ND_TASKS_MAX = 10000,
};

#define ND_NS_PER_S UINT64_C(1000000000)
#define ND_NS_PER_MS UINT64_C(1000000)

/* ---- the conversation ---- */

enum nd_phase { ND_PHASE_NONE, ND_PHASE_VERIFY, ND_PHASE_WARMUP, ND_PHASE_MEASURE };

/* What this process is to be. The texts live as long as the process. */
struct nd_setup {
    const char *workload, *role, *local, *peer;
    uint64_t seed;
    bool capture;
    json_t *params;
    json_t *inputs; /* NULL: none */
};

struct nd_value {
    const char *name;
    uint64_t value;
};

/* What the lab's lines are answered with. All of it runs on the thread that reads stdin, while the role works. */
struct nd_role {
    void *self;
    void (*signal)(void *self, const json_t *body);
    /* Each phase at most once, in order; `at_ns` is when its line came. */
    void (*start)(void *self, enum nd_phase phase, uint64_t at_ns);
    /* Writes at most ND_VALUES_MAX counters, returns how many. */
    size_t (*values)(void *self, struct nd_value *values);
    /* A new object of base64 texts, or NULL for none. */
    json_t *(*histograms)(void *self);
    /* Called at the stop, before the values of the result are read: returns once none will change. May be NULL, where nobody can receive
     * what is sent after it. */
    void (*stop)(void *self);
};

/* Reads the setup line. Ignores SIGPIPE from then on: a connection that breaks is an error of its call. */
void nd_connect(struct nd_setup *setup);

/* A parameter of the setup. One that is missing, of another type or out of bounds ends the process with `failed`. */
uint64_t nd_param_integer(const struct nd_setup *setup, const char *name, uint64_t min, uint64_t max);
double nd_param_number(const struct nd_setup *setup, const char *name, double min, double max);
const char *nd_param_text(const struct nd_setup *setup, const char *name);
/* The path of a file that the lab has prepared; one that is missing ends the process with `failed`. */
const char *nd_input(const struct nd_setup *setup, const char *name);

/* Reads the lab's lines from now on. The stop prints the result and ends the process, whatever else is running. */
void nd_follow(const struct nd_role *role);

/* Only before `ready`; exits with 127. */
noreturn void nd_unsupported(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Exits with 1. */
noreturn void nd_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The library under test and its version; the runtime is the C library. */
void nd_ready(const char *name, const char *version);
/* Takes over `body`. */
void nd_signal(const char *to, json_t *body);
void nd_connected(const uint64_t *setup_ns, size_t count);
void nd_verified(const uint8_t digest[ND_DIGEST_BYTES], uint64_t messages, uint64_t bytes);
void nd_counters(uint64_t id, uint64_t at_ns, const struct nd_value *values, size_t count);
/* Takes over `histograms`, which may be NULL. The process ends with 0. */
noreturn void nd_result(const struct nd_value *values, size_t count, json_t *histograms);

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t nd_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * ND_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- counters ---- */

/* Read by the thread that answers marks. With one writer, an addition need not lock the bus. */
typedef _Atomic uint64_t nd_counter;

static inline void nd_add(nd_counter *counter, uint64_t amount, bool several_writers) {
    if (several_writers) {
        atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
    } else {
        uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
        atomic_store_explicit(counter, before + amount, memory_order_relaxed);
    }
}

static inline uint64_t nd_read(const nd_counter *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- the payload ---- */

void nd_header_write(uint8_t *message, uint32_t stream, uint64_t sequence);
/* False if the message is too short or its zero field is not zero. */
bool nd_header_read(const uint8_t *message, size_t length, uint32_t *stream, uint64_t *sequence);
/* A whole message of the verify phase. One of less than ND_HEADER_BYTES is the beginning of the body. */
void nd_message_fill(uint8_t *message, size_t length, uint64_t seed, uint32_t stream, uint64_t sequence);
/* Adds a message to a set: the XOR of the SHA-256 of each. */
void nd_digest_add(uint8_t digest[ND_DIGEST_BYTES], const uint8_t *message, size_t length);

/* ---- histograms ---- */

/* HdrHistogram's buckets: values of up to ND_SUB_BUCKETS are exact; from there on each doubling of the value has
 * ND_SUB_BUCKETS / 2 buckets, so that none is wider than a thousandth of its values. */
enum {
    ND_SIGNIFICANT_DIGITS = 3,
    ND_SUB_BUCKET_BITS = 11, /* 2 * 10^3 values need so many */
    ND_SUB_BUCKETS = 1 << ND_SUB_BUCKET_BITS,
    ND_DOUBLINGS = 25,       /* from ND_SUB_BUCKETS to ND_VALUE_MAX */
    ND_BUCKETS = (ND_DOUBLINGS + 2) * (ND_SUB_BUCKETS / 2),
};
/* Greater values count as the greatest, 0 as the least. */
#define ND_VALUE_MIN UINT64_C(1)
#define ND_VALUE_MAX (UINT64_C(60) * ND_NS_PER_S)

struct nd_histogram {
    nd_counter counts[ND_BUCKETS];
};

void nd_histogram_record(struct nd_histogram *histogram, uint64_t value, bool several_writers);
/* HDR V2, uncompressed, in base64; to be freed. */
char *nd_histogram_encode(const struct nd_histogram *histogram);

/* ---- background tasks ---- */

/* Each a thread, made here and at rest until nd_tasks_start: once they run, they may leave too little of a processor to
 * make more of them. Each run is added to `runs`. Without the means for so many the role is unsupported. */
void nd_tasks_prepare(uint32_t count, nd_counter *runs);
void nd_tasks_start(void);
/* Lets them end, for the result to be made without them. */
void nd_tasks_stop(void);

#endif
