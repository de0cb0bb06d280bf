/* Version 1 of Netdyno's contender protocol for contenders in C.
 *
 *     lab.c        reads the lab's lines on a separate thread, and answers marks and the stop
 *     print.c      prints lines to the lab
 *     json.c       JSON
 *     payload.c    the payload, and the digest of a set of messages
 *     sha256.c     SHA-256
 *     histogram.c  latencies, HDR with three significant digits
 *     tasks.c      background tasks
 *
 * rtt.h, echonet.h and mjpeg.h support the workloads of those names. A process has one lab, so functions have no handle for it.
 * Unless stated otherwise, functions may be called from any thread.
 */
#ifndef NETDYNO_H
#define NETDYNO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <time.h>

enum {
    ND_PROTOCOL_VERSION = 1,
    ND_LINE_BYTES_MAX = 1 << 20, /* maximum length of a line without its newline */
    ND_VALUES_MAX = 16,          /* maximum number of counters of a role */
    ND_HISTOGRAMS_MAX = 4,       /* maximum number of histograms of a role */
    ND_REASON_BYTES_MAX = 512,   /* in `failed` and `unsupported` */
    ND_HEADER_BYTES = 16,
    ND_DIGEST_BYTES = 32,
    ND_TASKS_MAX = 10000,
};

#define ND_NS_PER_S UINT64_C(1000000000)
#define ND_NS_PER_MS UINT64_C(1000000)

/* ---- JSON ---- */

enum nd_json_kind {
    ND_JSON_NULL,
    ND_JSON_FALSE,
    ND_JSON_TRUE,
    ND_JSON_INTEGER,
    ND_JSON_REAL,
    ND_JSON_TEXT,
    ND_JSON_ARRAY,
    ND_JSON_OBJECT,
};

/* A value of a parsed text. The root owns all of it, and nothing changes it. */
struct nd_json {
    enum nd_json_kind kind;
    int64_t integer;
    double number;                      /* of an integer or a real */
    const char *text;                   /* UTF-8 with a final zero */
    const char *name;                   /* as a member of an object */
    const struct nd_json *first, *next; /* the first element or member; the next one of the same parent */
    const char *source;                 /* the value as it was parsed */
    size_t source_length;
};

/* Returns NULL with the reason if the text is not JSON. The caller frees the result. */
struct nd_json *nd_json_parse(const char *text, size_t length, const char **why);
/* The caller frees the copy. A missing value, NULL, is copied as such. */
struct nd_json *nd_json_copy(const struct nd_json *value);
/* Returns the last member with this name, or NULL. */
const struct nd_json *nd_json_get(const struct nd_json *object, const char *name);
/* Writes a text with quotes. Bytes that are not UTF-8 become U+FFFD. */
void nd_json_write_text(FILE *to, const char *text);

static inline bool nd_json_is(const struct nd_json *value, enum nd_json_kind kind) {
    return value != NULL && value->kind == kind;
}

/* Returns NULL for other kinds and missing values. */
static inline const char *nd_json_text(const struct nd_json *value) {
    return nd_json_is(value, ND_JSON_TEXT) ? value->text : NULL;
}

/* Returns 0 for other kinds and missing values. */
static inline int64_t nd_json_integer(const struct nd_json *value) {
    return nd_json_is(value, ND_JSON_INTEGER) ? value->integer : 0;
}

/* ---- the protocol ---- */

enum nd_phase { ND_PHASE_NONE, ND_PHASE_VERIFY, ND_PHASE_WARMUP, ND_PHASE_MEASURE };

/* The configuration of this process. The texts are never freed. */
struct nd_setup {
    const char *workload, *role, *local, *peer;
    uint64_t seed;
    bool capture;
    const struct nd_json *params;
    const struct nd_json *inputs; /* NULL if there are none */
};

struct nd_value {
    const char *name;
    uint64_t value;
};

/* A histogram of the result: a literal name, and base64 that nd_result frees. */
struct nd_encoded {
    const char *name;
    char *text;
};

/* Callbacks for the lab's lines. They run on the thread that reads stdin, concurrently with the role. */
struct nd_role {
    void *self;
    /* `body` is NULL if there is none. It is freed after the call. */
    void (*signal)(void *self, const struct nd_json *body);
    /* Called at most once per phase, in order. `at_ns` is when the line arrived. */
    void (*start)(void *self, enum nd_phase phase, uint64_t at_ns);
    /* Writes at most ND_VALUES_MAX counters and returns their number. */
    size_t (*values)(void *self, struct nd_value *values);
    /* Writes at most ND_HISTOGRAMS_MAX histograms and returns their number. May be NULL. */
    size_t (*histograms)(void *self, struct nd_encoded *histograms);
    /* Called at the stop, before the values of the result are read. It returns when no value will change. May be NULL if messages that
    * are sent later cannot be received. */
    void (*stop)(void *self);
};

/* Reads the setup line. Also ignores SIGPIPE, so that a broken connection is an error of the call. */
void nd_connect(struct nd_setup *setup);

/* Returns a parameter of the setup. A missing parameter, another type or a value out of bounds ends the process with `failed`. */
uint64_t nd_param_integer(const struct nd_setup *setup, const char *name, uint64_t min, uint64_t max);
double nd_param_number(const struct nd_setup *setup, const char *name, double min, double max);
const char *nd_param_text(const struct nd_setup *setup, const char *name);
/* Returns the path of an input file of the trial. A missing one ends the process with `failed`. */
const char *nd_input(const struct nd_setup *setup, const char *name);

/* Starts reading the lab's lines. The stop prints the result and ends the process. */
void nd_follow(const struct nd_role *role);

/* Reports unsupported parameters and exits with 127. Call it before `ready`. */
noreturn void nd_unsupported(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports an error and exits with 1. */
noreturn void nd_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports the library under test and its version. The runtime is the C library. */
void nd_ready(const char *name, const char *version);
/* `format` is the body as JSON, in which texts need nd_json_write_text. */
void nd_signal(const char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nd_connected(const uint64_t *setup_ns, size_t count);
void nd_verified(const uint8_t digest[ND_DIGEST_BYTES], uint64_t messages, uint64_t bytes);
void nd_counters(uint64_t id, uint64_t at_ns, const struct nd_value *values, size_t count);
/* Frees the texts of the histograms. Exits with 0. */
noreturn void nd_result(const struct nd_value *values, size_t count, const struct nd_encoded *histograms, size_t histogram_count);

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t nd_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * ND_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- counters ---- */

/* A counter that the thread that answers marks reads. With a single writer, additions avoid atomic read-modify-write. */
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
/* Writes a whole message of the verify phase. A message shorter than ND_HEADER_BYTES is a prefix of the body. */
void nd_message_fill(uint8_t *message, size_t length, uint64_t seed, uint32_t stream, uint64_t sequence);
void nd_sha256(const void *data, size_t length, uint8_t hash[ND_DIGEST_BYTES]);
/* Adds a message to a set: the XOR of the SHA-256 of each. */
void nd_digest_add(uint8_t digest[ND_DIGEST_BYTES], const uint8_t *message, size_t length);

/* ---- histograms ---- */

/* The buckets of HdrHistogram: values up to ND_SUB_BUCKETS are exact. Beyond, each doubling of the value has
* ND_SUB_BUCKETS / 2 buckets, so that the width of a bucket is at most a thousandth of its values. */
enum {
    ND_SIGNIFICANT_DIGITS = 3,
    ND_SUB_BUCKET_BITS = 11, /* for 2 * 10^3 values */
    ND_SUB_BUCKETS = 1 << ND_SUB_BUCKET_BITS,
    ND_DOUBLINGS = 25,       /* from ND_SUB_BUCKETS to ND_VALUE_MAX */
    ND_BUCKETS = (ND_DOUBLINGS + 2) * (ND_SUB_BUCKETS / 2),
};
/* Greater values count as the maximum, 0 as the minimum. */
#define ND_VALUE_MIN UINT64_C(1)
#define ND_VALUE_MAX (UINT64_C(60) * ND_NS_PER_S)

struct nd_histogram {
    nd_counter counts[ND_BUCKETS];
};

void nd_histogram_record(struct nd_histogram *histogram, uint64_t value, bool several_writers);
/* Returns HDR V2, uncompressed, in base64. The caller frees it. */
char *nd_histogram_encode(const struct nd_histogram *histogram);

/* ---- background tasks ---- */

/* Creates a thread per task, which waits for nd_tasks_start: creating threads is slow once many of them run. Each run is added to
* `runs`. If the system cannot create the threads, the role is unsupported. */
void nd_tasks_prepare(uint32_t count, nd_counter *runs);
void nd_tasks_start(void);
/* Stops the tasks before the result. */
void nd_tasks_stop(void);

#endif
