/* The common part of both roles of `echonet`: parameters, phases, counters; and the device's messages to the lab. */
#include "echonet.h"

#include <stdlib.h>
#include <string.h>

/* A time so distant that no event is within a window that starts at it. */
#define NOT_YET_NS (UINT64_C(1) << 63)

static void take_signal(void *self, const struct nd_json *body) {
    struct nd_echonet *net = self;
    if (!net->controller || !nd_json_is(nd_json_get(body, "ready"), ND_JSON_TRUE))
        nd_failed("unexpected signal for this role");
    pthread_mutex_lock(&net->lock);
    net->device_is_there = true;
    pthread_cond_broadcast(&net->changed);
    pthread_mutex_unlock(&net->lock);
}

static void take_start(void *self, enum nd_phase phase, uint64_t at_ns) {
    struct nd_echonet *net = self;
    if (phase == ND_PHASE_MEASURE)
        atomic_store_explicit(&net->measure_at_ns, at_ns, memory_order_relaxed);
    pthread_mutex_lock(&net->lock);
    net->phase = phase;
    pthread_cond_broadcast(&net->changed);
    pthread_mutex_unlock(&net->lock);
}

static size_t read_values(void *self, struct nd_value *values) {
    const struct nd_echonet *net = self;
    if (!net->controller)
        return 0;
    const struct nd_value all[] = {
        {"reads", nd_read(&net->reads)}, {"bytes", nd_read(&net->bytes)}, {"wrong", nd_read(&net->wrong)},
        {"lost", nd_read(&net->lost)},   {"late", nd_read(&net->late)},
    };
    memcpy(values, all, sizeof all);
    return sizeof all / sizeof *all;
}

static size_t histograms(void *self, struct nd_encoded *encoded) {
    const struct nd_echonet *net = self;
    if (net->controller)
        encoded[0] = (struct nd_encoded){"latency", nd_histogram_encode(net->latency)};
    return net->controller;
}

void nd_echonet_setup(struct nd_echonet *net) {
    memset(net, 0, sizeof *net);
    const struct nd_setup *setup = &net->setup;
    nd_connect(&net->setup);
    net->controller = strcmp(setup->role, "controller") == 0;
    if (strcmp(setup->workload, "echonet") != 0)
        nd_unsupported("the workload %.64s", setup->workload);
    if (!net->controller && strcmp(setup->role, "device") != 0)
        nd_unsupported("the role %.64s", setup->role);
    net->outstanding = (uint32_t)nd_param_integer(setup, "outstanding", 1, ND_OUTSTANDING_MAX);
    net->timeout_ns = nd_param_integer(setup, "timeout_ms", 1, UINT32_MAX) * ND_NS_PER_MS;
    net->window_ns = (uint64_t)(nd_param_number(setup, "seconds", 0.0, 1e6) * (double)ND_NS_PER_S);
    net->measure_at_ns = NOT_YET_NS;
    pthread_mutex_init(&net->lock, NULL);
    pthread_cond_init(&net->changed, NULL);
    for (uint32_t i = 0; i < net->outstanding; i++) {
        net->places[i].index = -1;
        net->free[i] = (uint8_t)(net->outstanding - 1 - i);
    }
    net->free_count = net->outstanding;
    if (net->controller && (net->latency = calloc(1, sizeof *net->latency)) == NULL)
        nd_failed("out of memory (histogram)");
}

void nd_echonet_ready(struct nd_echonet *net, const char *name, const char *version) {
    net->role = (struct nd_role){net, take_signal, take_start, read_values, histograms, NULL};
    nd_ready(name, version);
    nd_follow(&net->role);
}

void nd_echonet_await(struct nd_echonet *net, enum nd_phase phase) {
    pthread_mutex_lock(&net->lock);
    while (net->phase < phase)
        pthread_cond_wait(&net->changed, &net->lock);
    pthread_mutex_unlock(&net->lock);
}

void nd_device_identification(const struct nd_echonet *net, uint8_t value[ND_IDENTIFICATION_BYTES]) {
    static const uint8_t before[] = {0xfe, 0x00, 0x00, 0x0b};
    memcpy(value, before, sizeof before);
    nd_message_fill(value + sizeof before, ND_IDENTIFIER_BYTES, net->setup.seed, 0, 0);
}

void nd_device_serves(void) {
    nd_signal("controller", "{\"ready\":true}");
    nd_connected(NULL, 0);
}

void nd_controller_await_device(struct nd_echonet *net) {
    pthread_mutex_lock(&net->lock);
    while (!net->device_is_there)
        pthread_cond_wait(&net->changed, &net->lock);
    pthread_mutex_unlock(&net->lock);
}

void nd_controller_found(uint64_t created_ns) {
    const uint64_t setup_ns = nd_now_ns() - created_ns;
    nd_connected(&setup_ns, 1);
}
