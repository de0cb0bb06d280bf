/* The lab's lines: read, checked, answered. */
#include "netdyno.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct nd_role *the_role;

static const char *text_of(const struct nd_json *message, const char *key, const char *kind) {
    const char *text = nd_json_text(nd_json_get(message, key));
    if (text == NULL)
        nd_failed("%s: %s is missing or not a text", kind, key);
    return text;
}

static uint64_t count_of(const struct nd_json *message, const char *key, const char *kind) {
    const struct nd_json *number = nd_json_get(message, key);
    if (!nd_json_is(number, ND_JSON_INTEGER) || number->integer < 0)
        nd_failed("%s: %s is missing or not a non-negative integer", kind, key);
    return (uint64_t)number->integer;
}

/* Ends the process silently at the end of stdin, because the lab has ended. */
static struct nd_json *read_message(void) {
    static char buffer[ND_LINE_BYTES_MAX + 1];
    static size_t held, taken; /* bytes in the buffer, and bytes of consumed lines */

    memmove(buffer, buffer + taken, held - taken);
    held -= taken;
    taken = 0;
    const char *end;
    size_t searched = 0;
    while ((end = memchr(buffer + searched, '\n', held - searched)) == NULL) {
        searched = held;
        if (held == sizeof buffer)
            nd_failed("a line from the lab is longer than %d bytes", ND_LINE_BYTES_MAX);
        ssize_t got = read(STDIN_FILENO, buffer + held, sizeof buffer - held);
        if (got == 0)
            _exit(1);
        if (got < 0 && errno != EINTR)
            nd_failed("stdin: %s", strerror(errno));
        if (got > 0)
            held += (size_t)got;
    }
    taken = (size_t)(end - buffer) + 1;
    const char *why;
    struct nd_json *message = nd_json_parse(buffer, taken - 1, &why);
    if (message == NULL)
        nd_failed("a line from the lab is not JSON: %s", why);
    return message;
}

void nd_connect(struct nd_setup *setup) {
    signal(SIGPIPE, SIG_IGN);
    const struct nd_json *message = read_message(); /* never freed, because it owns the texts of `setup` */
    const char *kind = text_of(message, "type", "the first line");
    if (strcmp(kind, "setup") != 0)
        nd_failed("the first line is `%s`, expected `setup`", kind);
    uint64_t protocol = count_of(message, "protocol", kind);
    if (protocol != ND_PROTOCOL_VERSION)
        nd_unsupported("protocol %llu; the SDK implements %d", (unsigned long long)protocol, ND_PROTOCOL_VERSION);
    *setup = (struct nd_setup){
        .workload = text_of(message, "workload", kind),
        .role = text_of(message, "role", kind),
        .local = text_of(message, "local", kind),
        .peer = text_of(message, "peer", kind),
        .seed = count_of(message, "seed", kind),
        .capture = nd_json_is(nd_json_get(message, "capture"), ND_JSON_TRUE),
        .params = nd_json_get(message, "params"),
        .inputs = nd_json_get(message, "inputs"),
    };
    if (!nd_json_is(setup->params, ND_JSON_OBJECT))
        nd_failed("setup: params is missing or not an object");
}

uint64_t nd_param_integer(const struct nd_setup *setup, const char *name, uint64_t min, uint64_t max) {
    uint64_t value = count_of(setup->params, name, "params");
    if (value < min || value > max)
        nd_failed("params: %s is %llu, not from %llu to %llu", name, (unsigned long long)value,
                  (unsigned long long)min, (unsigned long long)max);
    return value;
}

double nd_param_number(const struct nd_setup *setup, const char *name, double min, double max) {
    const struct nd_json *number = nd_json_get(setup->params, name);
    if (!nd_json_is(number, ND_JSON_INTEGER) && !nd_json_is(number, ND_JSON_REAL))
        nd_failed("params: %s is missing or not a number", name);
    double value = number->number;
    if (value < min || value > max)
        nd_failed("params: %s is %g, not from %g to %g", name, value, min, max);
    return value;
}

const char *nd_param_text(const struct nd_setup *setup, const char *name) {
    return text_of(setup->params, name, "params");
}

const char *nd_input(const struct nd_setup *setup, const char *name) {
    return text_of(setup->inputs, name, "inputs");
}

/* Checks that each phase starts at most once and in order. */
static void start(const char *name) {
    static const char *const names[] = {"", "verify", "warmup", "measure"};
    static enum nd_phase reached;
    uint64_t at_ns = nd_now_ns();
    for (enum nd_phase phase = reached + 1; phase <= ND_PHASE_MEASURE; phase++) {
        if (strcmp(name, names[phase]) == 0) {
            reached = phase;
            the_role->start(the_role->self, phase, at_ns);
            return;
        }
    }
    nd_failed("start: phase %.32s is unknown or out of order", name);
}

static void answer(const struct nd_json *message) {
    const char *kind = text_of(message, "type", "a line from the lab");
    struct nd_value values[ND_VALUES_MAX];
    if (strcmp(kind, "mark") == 0) {
        uint64_t id = count_of(message, "id", kind);
        size_t count = the_role->values(the_role->self, values);
        nd_counters(id, nd_now_ns(), values, count);
    } else if (strcmp(kind, "start") == 0) {
        start(text_of(message, "phase", kind));
    } else if (strcmp(kind, "signal") == 0) {
        the_role->signal(the_role->self, nd_json_get(message, "body"));
    } else if (strcmp(kind, "stop") == 0) {
        if (the_role->stop != NULL)
            the_role->stop(the_role->self);
        struct nd_encoded histograms[ND_HISTOGRAMS_MAX];
        size_t count = the_role->values(the_role->self, values);
        nd_result(values, count, histograms, the_role->histograms ? the_role->histograms(the_role->self, histograms) : 0);
    } else {
        nd_failed("%.32s: unknown message type", kind);
    }
}

static void *follow(void *unused) {
    (void)unused;
    for (;;) {
        struct nd_json *message = read_message();
        answer(message);
        free(message);
    }
    return NULL;
}

void nd_follow(const struct nd_role *role) {
    pthread_t thread;
    the_role = role;
    int error = pthread_create(&thread, NULL, follow, NULL);
    if (error != 0)
        nd_failed("cannot create a thread for stdin: %s", strerror(error));
}
