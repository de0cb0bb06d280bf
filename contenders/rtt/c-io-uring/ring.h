#ifndef RING_H
#define RING_H

#include "rtt.h"

#include <liburing.h>

/* Creates the ring of this role. Without io_uring, the role is unsupported. */
void ring_open(struct io_uring *ring, const struct nd_rtt *rtt);
/* The version of the loaded library. */
const char *ring_version(void);

/* The key of a request consists of an index and an operation. */
enum ring_operation { RING_RECEIVE, RING_SEND, RING_ACCEPT, RING_PACER, RING_LOOK };
enum { RING_OPERATION_BITS = 3 };

static inline uint64_t ring_key(uint32_t index, enum ring_operation operation) {
    return (uint64_t)index << RING_OPERATION_BITS | operation;
}
static inline uint32_t ring_index(uint64_t key) {
    return (uint32_t)(key >> RING_OPERATION_BITS);
}
static inline enum ring_operation ring_operation(uint64_t key) {
    return key & ((1 << RING_OPERATION_BITS) - 1);
}

/* Returns the next free entry. The queue has enough entries for all requests between two submissions. */
struct io_uring_sqe *ring_entry(struct io_uring *ring);

noreturn void run_ping(struct nd_rtt *rtt, struct io_uring *ring);
noreturn void run_pong(struct nd_rtt *rtt, struct io_uring *ring);

#endif
