/* The ring, with the flags of io_uring_setup(2) for a single-threaded loop. */
#include "ring.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_PER_LANE = 2, /* a send and a receive */
    ENTRIES_BESIDE = 8,   /* timers, the listening socket */
};

void ring_open(struct io_uring *ring, const struct nd_rtt *rtt) {
    /* One thread submits. Completion work runs when it enters the kernel, and a flag indicates pending work, so polling needs no
    * system call. Requires Linux 6.1. */
    struct io_uring_params params = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    };
    int error = io_uring_queue_init_params(ENTRIES_PER_LANE * rtt->outstanding + ENTRIES_BESIDE, ring, &params);
    if (error != 0)
        nd_unsupported("io_uring is not available: %s", strerror(-error));
}

const char *ring_version(void) {
    static const char before[] = ".so.";
    Dl_info library;
    char *path = NULL;
    if (dladdr((void *)(uintptr_t)io_uring_queue_init_params, &library) != 0)
        path = realpath(library.dli_fname, NULL);
    const char *found = path ? strstr(path, before) : NULL;
    return found ? found + strlen(before) : "unknown";
}

struct io_uring_sqe *ring_entry(struct io_uring *ring) {
    struct io_uring_sqe *entry = io_uring_get_sqe(ring);
    if (entry == NULL)
        nd_failed("the submission queue is full");
    return entry;
}
