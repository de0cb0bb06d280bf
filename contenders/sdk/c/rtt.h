/* The workload `rtt`, less its sockets' waiting: what a contender adds is how it sends, receives and waits.
 *
 *     rtt.c       parameters, phases, counters, histograms
 *     lane.c      one lane of ping: the next request, when it is due, what an echo is
 *     socket.c    sockets, the hello, messages over non-blocking sockets
 *
 * ping, with `lane` one of `rtt.lanes`:
 *
 *     nd_rtt_setup(&rtt); nd_rtt_ready(&rtt, name, version); nd_ping_open(&rtt);
 *     nd_rtt_await(&rtt, ND_PHASE_VERIFY), then nd_lane_begin(lane) and requests while nd_lane_verifying(lane), and
 *     nd_lane_verified(lane); nd_rtt_await(&rtt, ND_PHASE_WARMUP), then nd_lane_begin(lane) and requests for ever.
 *
 * A request: read the clock, send lane->request, tell nd_lane_sent. What is received goes to nd_lane_take, with the time
 * right after the call; once it says that the lane is settled, the next request is in lane->request already.
 */
#ifndef NETDYNO_RTT_H
#define NETDYNO_RTT_H

#include "netdyno.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
    ND_LANES_MAX = 1000,
    ND_MESSAGE_BYTES_MAX = 60000,
    ND_DATAGRAM_BYTES_MAX = 65535,
    ND_LOOK_MS = 100, /* a lane looks so often whether its request is lost */
    ND_APART_BYTES = 128, /* what cores write at the same time lies so far apart: processors fetch lines in pairs */
};

#define ND_HELLO_SEQUENCE UINT64_MAX

struct nd_rtt;

struct nd_lane {
    struct nd_rtt *rtt;
    int fd;
    uint32_t stream;
    bool awaiting;     /* a request is under way */
    uint64_t sequence; /* of the request under way, or of the next one */
    uint64_t due_ns;   /* of the same; 0: at once */
    uint64_t sent_ns;
    uint64_t setup_ns;
    uint8_t *request; /* message_bytes */
    uint8_t *echo;    /* one byte more, so that a longer datagram shows */
    uint64_t verified;
    uint8_t digest[ND_DIGEST_BYTES];
};

struct nd_rtt {
    struct nd_setup setup;
    bool ping, tcp, timer_pacing;
    uint32_t message_bytes, outstanding, tasks;
    uint64_t rate_per_s, verify_messages, echo_delay_ns, timeout_ns, window_ns;
    bool several_writers; /* of the counters: set before the lanes get threads of their own */
    struct nd_lane *lanes;

    struct nd_histogram *latency, *service, *lateness; /* ping only */

    /* Written by the role, and by the threads of tasks; what stands around them is only read then. */
    _Alignas(ND_APART_BYTES) nd_counter requests;
    nd_counter messages, bytes, lost, late, strange;
    _Alignas(ND_APART_BYTES) nd_counter task_runs;

    _Alignas(ND_APART_BYTES) struct nd_role role;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic enum nd_phase phase;
    uint16_t port;           /* of pong; 0: not known yet */
    uint64_t warmup_at_ns;   /* valid once the phase is there */
    nd_counter measure_at_ns;
    uint32_t lanes_verified;
    uint64_t verified;
    uint8_t digest[ND_DIGEST_BYTES];
};

/* ---- both roles ---- */

/* Reads the setup; another workload, an unknown role or parameter ends the process. */
void nd_rtt_setup(struct nd_rtt *rtt);
/* Prints `ready`, and takes the lab's lines from then on. The background tasks are threads, made here and released by
 * `start warmup`. */
void nd_rtt_ready(struct nd_rtt *rtt, const char *name, const char *version);
/* Returns once the lab has started this phase. */
void nd_rtt_await(struct nd_rtt *rtt, enum nd_phase phase);
/* The same, asked. */
static inline bool nd_rtt_reached(const struct nd_rtt *rtt, enum nd_phase phase) {
    return atomic_load_explicit(&rtt->phase, memory_order_acquire) >= phase;
}

/* The contender's own, for its main() to choose from. */
noreturn void nd_run_ping(struct nd_rtt *rtt);
noreturn void nd_run_pong(struct nd_rtt *rtt);

/* ---- ping ---- */

/* Makes the lanes: each a connected, blocking socket over which a hello has come back. Prints `connected`. */
void nd_ping_open(struct nd_rtt *rtt);
/* Prepares the first request of verify, or of warmup. */
void nd_lane_begin(struct nd_lane *lane);
static inline bool nd_lane_verifying(const struct nd_lane *lane) {
    return lane->sequence < lane->rtt->verify_messages;
}
/* To be told right after the call that sent. */
void nd_lane_sent(struct nd_lane *lane, uint64_t sent_ns);
/* What was received, and when. True if the request under way is thereby settled; late and strange ones are counted, and the
 * echo of a hello is ignored. */
bool nd_lane_take(struct nd_lane *lane, const uint8_t *message, size_t length, uint64_t at_ns);
/* True if the request under way is lost, and thereby settled. */
bool nd_lane_give_up(struct nd_lane *lane, uint64_t now_ns);
/* This lane has its verify behind it, and the next may begin; the last one prints `verified`. */
void nd_lane_verified(struct nd_lane *lane);

/* The order in which requests fall due over all lanes, for a contender with one thread for them. */
struct nd_schedule {
    struct nd_rtt *rtt;
    uint64_t number, due_ns; /* of the next request */
    uint64_t sequence;       /* of the next request, on its lane */
    uint32_t stream;         /* its lane */
    bool paced;              /* requests fall due by the clock; else only the first of each lane */
    bool verify;
};

/* Begins every lane as well. In verify the lanes come one after the other: all at once, many lanes or long messages would
 * overflow pong's one socket, and verify may lose nothing. */
void nd_schedule_begin(struct nd_schedule *schedule, struct nd_rtt *rtt);
/* The next lane whose request is due now and which awaits no echo, or NULL. A lane that is settled when its request is
 * due already (nd_lane_is_due) sends at once and does not come up here. */
struct nd_lane *nd_schedule_next(struct nd_schedule *schedule, uint64_t now_ns);
/* This lane has its verify behind it: the next one is due. The last one prints `verified`. */
void nd_schedule_verified(struct nd_schedule *schedule, struct nd_lane *lane);
static inline bool nd_lane_is_due(const struct nd_lane *lane, uint64_t now_ns) {
    return lane->due_ns <= now_ns;
}

/* ---- pong ---- */

/* A bound socket (UDP) or one that listens (TCP); signals its port to ping and prints `connected`. */
int nd_pong_open(struct nd_rtt *rtt);
/* A connection of TCP, accepted by the contender. */
void nd_pong_accepted(int fd);
/* The wait before an echo. */
static inline void nd_pong_delay(const struct nd_rtt *rtt) {
    if (rtt->echo_delay_ns != 0)
        for (uint64_t from_ns = nd_now_ns(); nd_now_ns() - from_ns < rtt->echo_delay_ns;)
            ;
}
/* Counts a message that is answered: right before it is sent back, so that ping never has more echoes than are counted. */
static inline void nd_pong_count(struct nd_rtt *rtt, size_t bytes) {
    nd_add(&rtt->messages, 1, rtt->several_writers);
    nd_add(&rtt->bytes, bytes, rtt->several_writers);
}
/* Receives one datagram and sends it back; a non-blocking socket may have none. */
void nd_pong_echo_datagram(struct nd_rtt *rtt, int fd);
/* True for an error that says no more than that ping has gone, or that a datagram was dropped on its way out. */
bool nd_pong_error_is_harmless(int error);

/* ---- messages over a blocking socket ----
 *
 * A call that has some of a stream's message returns early where the process is frozen: what is left is asked for again. */

/* A whole message of a stream: its length, or -1 with errno (0: closed). */
ssize_t nd_receive_all(int fd, uint8_t *message, size_t length);
/* False: ended, with errno. */
bool nd_send_all(int fd, const uint8_t *message, size_t length);

/* ---- messages over a non-blocking socket ---- */

struct nd_wire {
    int fd;
    bool tcp;
    size_t message_bytes;
    size_t received, sent; /* of a message that TCP has in part */
    bool sending;          /* what is left of a message waits for room in the socket */
};

enum { ND_WIRE_NOTHING = -1, ND_WIRE_ENDED = -2 };

/* Makes the socket a non-blocking one. */
void nd_wire_init(struct nd_wire *wire, const struct nd_rtt *rtt, int fd);
/* One call of recv: the length of a message, ND_WIRE_NOTHING for none yet, or ND_WIRE_ENDED with errno (0: closed).
 * `buffer` holds message_bytes + 1 and keeps the part of a message until the rest is there. */
ssize_t nd_wire_receive(struct nd_wire *wire, uint8_t *buffer);
/* One call of send, of what is left of the message. False: ended, with errno. */
bool nd_wire_send(struct nd_wire *wire, const uint8_t *message);

#endif
