/* Background tasks: each repeats a short computation and a pause of 1 ms. */
#include "netdyno.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 100,
    STACK_BYTES = 64 << 10, /* enough for a small function and the data of the C library */
};

enum state { AT_REST, RUNNING, STOPPED };

static nd_counter *thread_runs;
static _Atomic enum state state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static uint32_t compute(uint32_t x) {
    for (int round = 0; round < ROUNDS; round++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    return x;
}

static enum state now_in(void) {
    return atomic_load_explicit(&state, memory_order_relaxed);
}

static void *run(void *argument) {
    const struct timespec pause = {.tv_nsec = ND_NS_PER_MS};
    /* Volatile, so that the computation is not optimised away. */
    volatile uint32_t x = (uint32_t)(uintptr_t)argument;
    pthread_mutex_lock(&lock);
    while (now_in() == AT_REST)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    while (now_in() == RUNNING) {
        x = compute(x);
        nd_add(thread_runs, 1, true);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return NULL;
}

void nd_tasks_prepare(uint32_t count, nd_counter *runs) {
    pthread_attr_t small;
    thread_runs = runs;
    pthread_attr_init(&small);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&small, STACK_BYTES < PTHREAD_STACK_MIN ? (size_t)PTHREAD_STACK_MIN : STACK_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        pthread_t thread;
        int error = pthread_create(&thread, &small, run, (void *)(uintptr_t)(i + 1));
        if (error != 0)
            nd_unsupported("cannot create %u background tasks: thread %u: %s", count, i, strerror(error));
    }
    pthread_attr_destroy(&small);
}

void nd_tasks_start(void) {
    pthread_mutex_lock(&lock);
    atomic_store_explicit(&state, RUNNING, memory_order_relaxed);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void nd_tasks_stop(void) {
    atomic_store_explicit(&state, STOPPED, memory_order_relaxed);
}
