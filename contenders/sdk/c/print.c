/* Lines to the lab. Each is written by one call under a lock, so that threads cannot interleave them. */
#include "netdyno.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_UNSUPPORTED = 127 };

static pthread_mutex_t stdout_lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes ownership of `message`. Ends the process if stdout is closed or memory is exhausted. The caller holds the lock. */
static void print(json_t *message) {
    char *line = json_dumps(message, JSON_COMPACT);
    if (line == NULL)
        _exit(EXIT_FAILED);
    size_t length = strlen(line);
    line[length] = '\n'; /* replaces the terminating zero */
    for (size_t at = 0; at <= length;) {
        ssize_t wrote = write(STDOUT_FILENO, line + at, length + 1 - at);
        if (wrote < 0 && errno != EINTR)
            _exit(EXIT_FAILED);
        if (wrote > 0)
            at += (size_t)wrote;
    }
    free(line);
    json_decref(message);
}

static void emit(json_t *message) {
    pthread_mutex_lock(&stdout_lock);
    print(message);
    pthread_mutex_unlock(&stdout_lock);
}

/* Keeps the lock until the process ends, so that this is the last line. */
static noreturn void leave(json_t *message, int code) {
    pthread_mutex_lock(&stdout_lock);
    print(message);
    _exit(code);
}

static json_t *reason(const char *type, const char *format, va_list arguments) {
    char text[ND_REASON_BYTES_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    json_t *message = json_pack("{s:s, s:s}", "type", type, "reason", text);
    /* A text that is not UTF-8, or was cut within a character, cannot be JSON. */
    return message ? message : json_pack("{s:s, s:s}", "type", type, "reason", "the reason is not valid UTF-8");
}

void nd_unsupported(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    leave(reason("unsupported", format, arguments), EXIT_UNSUPPORTED);
}

void nd_failed(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    leave(reason("failed", format, arguments), EXIT_FAILED);
}

void nd_ready(const char *name, const char *version) {
    char runtime[64];
    snprintf(runtime, sizeof runtime, "glibc %s", gnu_get_libc_version());
    emit(json_pack("{s:s, s:{s:s, s:s, s:s, s:s}}", "type", "ready", "implementation", "name", name, "version",
                  version, "language", "c", "runtime", runtime));
}

void nd_signal(const char *to, json_t *body) {
    emit(json_pack("{s:s, s:s, s:o}", "type", "signal", "to", to, "body", body));
}

void nd_connected(const uint64_t *setup_ns, size_t count) {
    json_t *durations = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(durations, json_integer((json_int_t)setup_ns[i]));
    emit(json_pack("{s:s, s:o}", "type", "connected", "setup_ns", durations));
}

void nd_verified(const uint8_t digest[ND_DIGEST_BYTES], uint64_t messages, uint64_t bytes) {
    char text[2 * ND_DIGEST_BYTES + 1];
    for (size_t i = 0; i < ND_DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    emit(json_pack("{s:s, s:s, s:I, s:I}", "type", "verified", "digest", text, "messages", (json_int_t)messages,
                  "bytes", (json_int_t)bytes));
}

static json_t *object(const struct nd_value *values, size_t count) {
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set_new(object, values[i].name, json_integer((json_int_t)values[i].value));
    return object;
}

void nd_counters(uint64_t id, uint64_t at_ns, const struct nd_value *values, size_t count) {
    emit(json_pack("{s:s, s:I, s:I, s:o}", "type", "counters", "id", (json_int_t)id, "at_ns", (json_int_t)at_ns,
                  "values", object(values, count)));
}

void nd_result(const struct nd_value *values, size_t count, json_t *histograms) {
    leave(json_pack("{s:s, s:o, s:o}", "type", "result", "values", object(values, count), "histograms",
                    histograms ? histograms : json_object()),
          0);
}
