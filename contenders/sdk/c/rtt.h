/* The workload `rtt` without waiting. A contender adds the sending, the receiving and the waiting.
 *
 *     rtt.c       parameters, phases, counters, histograms
 *     lane.c      one lane of ping: the next request, when it is due, the classification of echoes
 *     socket.c    sockets, the hello, messages over non-blocking sockets
 *
 * Calls of ping, where `lane` is one of `rtt.lanes`:
 *
 *     nd_rtt_setup(&rtt); nd_rtt_ready(&rtt, name, version); nd_ping_open(&rtt);
 *     nd_rtt_await(&rtt, ND_PHASE_VERIFY), then nd_lane_begin(lane) and requests while nd_lane_verifying(lane), and
 *     nd_lane_verified(lane); nd_rtt_await(&rtt, ND_PHASE_WARMUP), then nd_lane_begin(lane) and requests forever.
 *
 * A request: read the clock, send lane->request, and call nd_lane_sent. Pass received messages to nd_lane_take, with the time right
 * after the call. When it returns true, lane->request already contains the next request.
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
    ND_TICK_MS = 100, /* maximum interval at which a lane checks for a lost request */
    ND_APART_BYTES = 128, /* distance that avoids false sharing: processors fetch cache lines in pairs */
};

#define ND_HELLO_SEQUENCE UINT64_MAX

struct nd_rtt;

struct nd_lane {
    struct nd_rtt *rtt;
    int fd;
    uint32_t stream;
    bool awaiting;     /* a request is outstanding */
    uint64_t sequence; /* of the outstanding or next request */
    uint64_t due_ns;   /* of the same request; 0: at once */
    uint64_t sent_ns;
    uint64_t setup_ns;
    uint8_t *request; /* message_bytes */
    uint8_t *echo;    /* message_bytes + 1, so that longer datagrams are detected */
    uint64_t verified;
    uint8_t digest[ND_DIGEST_BYTES];
};

struct nd_rtt {
    struct nd_setup setup;
    bool ping, tcp, timer_pacing;
    uint32_t message_bytes, outstanding, tasks;
    uint64_t rate_per_s, verify_messages, echo_delay_ns, timeout_ns, window_ns;
    bool several_writers; /* of the counters; set before the lanes get their own threads */
    struct nd_lane *lanes;

    struct nd_histogram *latency, *service, *lateness; /* ping only */

    /* Written by the role and the threads of tasks. The surrounding fields are read-only then. */
    _Alignas(ND_APART_BYTES) nd_counter requests;
    nd_counter messages, bytes, lost, late, strange;
    _Alignas(ND_APART_BYTES) nd_counter task_runs;

    _Alignas(ND_APART_BYTES) struct nd_role role;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic enum nd_phase phase;
    uint16_t port;           /* of pong; 0 if unknown */
    uint64_t warmup_at_ns;   /* valid from the start of the phase */
    nd_counter measure_at_ns;
    uint32_t lanes_verified;
    uint64_t verified;
    uint8_t digest[ND_DIGEST_BYTES];
};

/* ---- both roles ---- */

/* Reads the setup. Another workload, or an unknown role or parameter, ends the process. */
void nd_rtt_setup(struct nd_rtt *rtt);
/* Prints `ready` and starts handling the lab's lines. Also creates the threads of the background tasks, which `start warmup`
* releases. */
void nd_rtt_ready(struct nd_rtt *rtt, const char *name, const char *version);
/* Waits until the lab has started this phase. */
void nd_rtt_await(struct nd_rtt *rtt, enum nd_phase phase);
/* Whether the lab has started this phase. */
static inline bool nd_rtt_reached(const struct nd_rtt *rtt, enum nd_phase phase) {
    return atomic_load_explicit(&rtt->phase, memory_order_acquire) >= phase;
}

/* Implemented by the contender; its main() calls one of them. */
noreturn void nd_run_ping(struct nd_rtt *rtt);
noreturn void nd_run_pong(struct nd_rtt *rtt);

/* ---- ping ---- */

/* Creates the lanes: connected, blocking sockets on which the hello has been echoed. Prints `connected`. */
void nd_ping_open(struct nd_rtt *rtt);
/* Prepares the first request of verify, or of warmup. */
void nd_lane_begin(struct nd_lane *lane);
static inline bool nd_lane_verifying(const struct nd_lane *lane) {
    return lane->sequence < lane->rtt->verify_messages;
}
/* Call it right after the call that sends. */
void nd_lane_sent(struct nd_lane *lane, uint64_t sent_ns);
/* Handles a received message. Returns true if it settles the outstanding request. Late and strange messages are counted; the echo of
* a hello is ignored. */
bool nd_lane_take(struct nd_lane *lane, const uint8_t *message, size_t length, uint64_t at_ns);
/* Returns true if the outstanding request has timed out, which settles it. */
bool nd_lane_give_up(struct nd_lane *lane, uint64_t now_ns);
/* Reports that this lane has completed verify. The last lane prints `verified`. */
void nd_lane_verified(struct nd_lane *lane);

/* The order in which requests are due over all lanes, for a contender with a single thread. */
struct nd_schedule {
    struct nd_rtt *rtt;
    uint64_t number, due_ns; /* of the next request */
    uint64_t sequence;       /* of the next request, on its lane */
    uint32_t stream;         /* the lane of the next request */
    bool paced;              /* an open loop; otherwise only the first request of each lane is scheduled */
    bool verify;
};

/* Starts the schedule and all lanes. In verify, the lanes run one at a time: otherwise, many lanes or long messages could overflow
* pong's socket buffer, and verify tolerates no loss. */
void nd_schedule_begin(struct nd_schedule *schedule, struct nd_rtt *rtt);
/* Returns the next lane whose request is due and which awaits no echo, or NULL. A lane that is settled after its next request has
* become due (nd_lane_is_due) sends at once and is not returned here. */
struct nd_lane *nd_schedule_next(struct nd_schedule *schedule, uint64_t now_ns);
/* Reports that this lane has completed verify: the next one is due. The last lane prints `verified`. */
void nd_schedule_verified(struct nd_schedule *schedule, struct nd_lane *lane);
static inline bool nd_lane_is_due(const struct nd_lane *lane, uint64_t now_ns) {
    return lane->due_ns <= now_ns;
}

/* ---- pong ---- */

/* Returns a bound socket (UDP) or a listening one (TCP). Signals its port to ping and prints `connected`. */
int nd_pong_open(struct nd_rtt *rtt);
/* Configures a TCP connection that the contender has accepted. */
void nd_pong_accepted(int fd);
/* Applies the artificial delay of an echo. */
static inline void nd_pong_delay(const struct nd_rtt *rtt) {
    if (rtt->echo_delay_ns != 0)
        for (uint64_t from_ns = nd_now_ns(); nd_now_ns() - from_ns < rtt->echo_delay_ns;)
            ;
}
/* Counts a message. Call it right before returning the message, so that ping never receives an uncounted echo. */
static inline void nd_pong_count(struct nd_rtt *rtt, size_t bytes) {
    nd_add(&rtt->messages, 1, rtt->several_writers);
    nd_add(&rtt->bytes, bytes, rtt->several_writers);
}
/* Receives a datagram and returns it to its sender. A non-blocking socket may have none. */
void nd_pong_echo_datagram(struct nd_rtt *rtt, int fd);
/* True for errors which only mean that ping has ended, or that a datagram was dropped by this host. */
bool nd_pong_error_is_harmless(int error);

/* ---- messages over a blocking socket ----
 *
 * A freeze can interrupt a call after a part of a stream's message; these functions continue with the rest. */

/* Receives a whole message of a stream. Returns its length, or -1 with errno (0: closed). */
ssize_t nd_receive_all(int fd, uint8_t *message, size_t length);
/* Returns false with errno if the connection has ended. */
bool nd_send_all(int fd, const uint8_t *message, size_t length);

/* ---- messages over a non-blocking socket ---- */

struct nd_wire {
    int fd;
    bool tcp;
    size_t message_bytes;
    size_t received, sent; /* parts of the current messages (TCP) */
    bool sending;          /* the rest of a message waits for space in the socket buffer */
};

enum { ND_WIRE_NOTHING = -1, ND_WIRE_ENDED = -2 };

/* Makes the socket non-blocking. */
void nd_wire_init(struct nd_wire *wire, const struct nd_rtt *rtt, int fd);
/* Calls recv once. Returns the length of a message, ND_WIRE_NOTHING if none is complete, or ND_WIRE_ENDED with errno (0: closed).
* `buffer` has message_bytes + 1 bytes and keeps a partial message between calls. */
ssize_t nd_wire_receive(struct nd_wire *wire, uint8_t *buffer);
/* Calls send once for the rest of the message. Returns false with errno if the connection has ended. */
bool nd_wire_send(struct nd_wire *wire, const uint8_t *message);

#endif
