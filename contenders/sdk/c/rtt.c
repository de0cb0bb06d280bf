/* The common part of both roles of `rtt`: parameters, phases, counters. */
#include "rtt.h"

#include <stdlib.h>
#include <string.h>

/* A time so distant that no event is within a window that starts at it. */
#define NOT_YET_NS (UINT64_C(1) << 63)

static void take_signal(void *self, const struct nd_json *body) {
    struct nd_rtt *rtt = self;
    const int64_t port = nd_json_integer(nd_json_get(body, "port"));
    if (!rtt->ping || port < 1 || port > UINT16_MAX)
        nd_failed("signal without a port, or not for this role");
    pthread_mutex_lock(&rtt->lock);
    rtt->port = (uint16_t)port;
    pthread_cond_broadcast(&rtt->changed);
    pthread_mutex_unlock(&rtt->lock);
}

static void take_start(void *self, enum nd_phase phase, uint64_t at_ns) {
    struct nd_rtt *rtt = self;
    if (phase == ND_PHASE_MEASURE)
        atomic_store_explicit(&rtt->measure_at_ns, at_ns, memory_order_relaxed);
    pthread_mutex_lock(&rtt->lock);
    if (phase == ND_PHASE_WARMUP)
        rtt->warmup_at_ns = at_ns;
    atomic_store_explicit(&rtt->phase, phase, memory_order_release);
    pthread_cond_broadcast(&rtt->changed);
    pthread_mutex_unlock(&rtt->lock);
    if (phase == ND_PHASE_WARMUP)
        nd_tasks_start();
}

static size_t read_values(void *self, struct nd_value *values) {
    struct nd_rtt *rtt = self;
    const struct {
        const char *name;
        const nd_counter *counter;
        bool of_pong;
    } all[] = {
        {"requests", &rtt->requests, false}, {"messages", &rtt->messages, true}, {"bytes", &rtt->bytes, true},
        {"lost", &rtt->lost, false},         {"late", &rtt->late, false},        {"strange", &rtt->strange, false},
        {"task_runs", &rtt->task_runs, true},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (rtt->ping || all[i].of_pong)
            values[count++] = (struct nd_value){all[i].name, nd_read(all[i].counter)};
    return count;
}

static size_t histograms(void *self, struct nd_encoded *encoded) {
    const struct nd_rtt *rtt = self;
    size_t count = 0;
    nd_tasks_stop();
    if (rtt->ping) {
        encoded[count++] = (struct nd_encoded){"latency", nd_histogram_encode(rtt->latency)};
        if (rtt->rate_per_s > 0) {
            encoded[count++] = (struct nd_encoded){"service", nd_histogram_encode(rtt->service)};
            encoded[count++] = (struct nd_encoded){"lateness", nd_histogram_encode(rtt->lateness)};
        }
    }
    return count;
}

static bool choose(const struct nd_setup *setup, const char *name, const char *yes, const char *no) {
    const char *text = nd_param_text(setup, name);
    if (strcmp(text, yes) != 0 && strcmp(text, no) != 0)
        nd_unsupported("%s %.32s", name, text);
    return strcmp(text, yes) == 0;
}

static struct nd_histogram *new_histogram(void) {
    struct nd_histogram *histogram = calloc(1, sizeof *histogram);
    if (histogram == NULL)
        nd_failed("out of memory (histogram)");
    return histogram;
}

void nd_rtt_setup(struct nd_rtt *rtt) {
    memset(rtt, 0, sizeof *rtt);
    const struct nd_setup *setup = &rtt->setup;
    nd_connect(&rtt->setup);
    rtt->ping = strcmp(setup->role, "ping") == 0;
    if (strcmp(setup->workload, "rtt") != 0)
        nd_unsupported("the workload %.64s", setup->workload);
    if (!rtt->ping && strcmp(setup->role, "pong") != 0)
        nd_unsupported("the role %.64s", setup->role);
    rtt->tcp = choose(setup, "transport", "tcp", "udp");
    rtt->timer_pacing = choose(setup, "pacing", "timer", "spin");
    rtt->message_bytes = (uint32_t)nd_param_integer(setup, "message_bytes", ND_HEADER_BYTES, ND_MESSAGE_BYTES_MAX);
    rtt->outstanding = (uint32_t)nd_param_integer(setup, "outstanding", 1, ND_LANES_MAX);
    rtt->tasks = (uint32_t)nd_param_integer(setup, "tasks", 0, ND_TASKS_MAX);
    rtt->rate_per_s = nd_param_integer(setup, "rate", 0, ND_NS_PER_S);
    rtt->verify_messages = nd_param_integer(setup, "verify_messages", 1, UINT32_MAX);
    rtt->echo_delay_ns = nd_param_integer(setup, "echo_delay_ns", 0, ND_NS_PER_S);
    rtt->timeout_ns = nd_param_integer(setup, "timeout_ms", 1, UINT32_MAX) * ND_NS_PER_MS;
    rtt->window_ns = (uint64_t)(nd_param_number(setup, "seconds", 0.0, 1e6) * (double)ND_NS_PER_S);
    rtt->measure_at_ns = NOT_YET_NS;
    pthread_mutex_init(&rtt->lock, NULL);
    pthread_cond_init(&rtt->changed, NULL);
    if (rtt->ping) {
        rtt->latency = new_histogram();
        rtt->service = new_histogram();
        rtt->lateness = new_histogram();
    }
}

void nd_rtt_ready(struct nd_rtt *rtt, const char *name, const char *version) {
    nd_tasks_prepare(rtt->tasks, &rtt->task_runs);
    rtt->role = (struct nd_role){rtt, take_signal, take_start, read_values, histograms, NULL};
    nd_ready(name, version);
    nd_follow(&rtt->role);
}

void nd_rtt_await(struct nd_rtt *rtt, enum nd_phase phase) {
    pthread_mutex_lock(&rtt->lock);
    while (!nd_rtt_reached(rtt, phase))
        pthread_cond_wait(&rtt->changed, &rtt->lock);
    pthread_mutex_unlock(&rtt->lock);
}
