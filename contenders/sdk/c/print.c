/* Lines to the lab. Each is written by one call under a lock, so that threads cannot interleave them. */
#include "netdyno.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_UNSUPPORTED = 127 };

static pthread_mutex_t stdout_lock = PTHREAD_MUTEX_INITIALIZER;

/* A line under construction. */
struct line {
    FILE *to;
    char *text;
    size_t length;
};

static void begin(struct line *line, const char *type) {
    line->to = open_memstream(&line->text, &line->length);
    if (line->to == NULL)
        _exit(EXIT_FAILED);
    fprintf(line->to, "{\"type\":\"%s\"", type);
}

static void put_text(struct line *line, const char *name, const char *text) {
    fprintf(line->to, ",\"%s\":", name);
    nd_json_write_text(line->to, text);
}

static void put_values(struct line *line, const struct nd_value *values, size_t count) {
    fputs(",\"values\":{", line->to);
    for (size_t i = 0; i < count; i++)
        fprintf(line->to, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", values[i].name, values[i].value);
    fputc('}', line->to);
}

/* Completes and prints the line. Ends the process if stdout is closed or memory is exhausted. The caller holds the lock. */
static void print(struct line *line) {
    fputs("}\n", line->to);
    if (fclose(line->to) != 0)
        _exit(EXIT_FAILED);
    for (size_t at = 0; at < line->length;) {
        ssize_t wrote = write(STDOUT_FILENO, line->text + at, line->length - at);
        if (wrote < 0 && errno != EINTR)
            _exit(EXIT_FAILED);
        if (wrote > 0)
            at += (size_t)wrote;
    }
    free(line->text);
}

static void emit(struct line *line) {
    pthread_mutex_lock(&stdout_lock);
    print(line);
    pthread_mutex_unlock(&stdout_lock);
}

/* Keeps the lock until the process ends, so that this is the last line. */
static noreturn void leave(struct line *line, int code) {
    pthread_mutex_lock(&stdout_lock);
    print(line);
    _exit(code);
}

static noreturn void give_up(const char *type, const char *format, va_list arguments, int code) {
    char text[ND_REASON_BYTES_MAX];
    struct line line;
    vsnprintf(text, sizeof text, format, arguments);
    begin(&line, type);
    put_text(&line, "reason", text);
    leave(&line, code);
}

void nd_unsupported(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    give_up("unsupported", format, arguments, EXIT_UNSUPPORTED);
}

void nd_failed(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    give_up("failed", format, arguments, EXIT_FAILED);
}

void nd_ready(const char *name, const char *version) {
    struct line line;
    begin(&line, "ready");
    fputs(",\"implementation\":{\"language\":\"c\"", line.to);
    put_text(&line, "name", name);
    put_text(&line, "version", version);
    fprintf(line.to, ",\"runtime\":\"glibc %s\"}", gnu_get_libc_version());
    emit(&line);
}

void nd_signal(const char *to, const char *format, ...) {
    struct line line;
    va_list arguments;
    begin(&line, "signal");
    put_text(&line, "to", to);
    fputs(",\"body\":", line.to);
    va_start(arguments, format);
    vfprintf(line.to, format, arguments);
    va_end(arguments);
    emit(&line);
}

void nd_connected(const uint64_t *setup_ns, size_t count) {
    struct line line;
    begin(&line, "connected");
    fputs(",\"setup_ns\":[", line.to);
    for (size_t i = 0; i < count; i++)
        fprintf(line.to, "%s%" PRIu64, i > 0 ? "," : "", setup_ns[i]);
    fputc(']', line.to);
    emit(&line);
}

void nd_verified(const uint8_t digest[ND_DIGEST_BYTES], uint64_t messages, uint64_t bytes) {
    struct line line;
    begin(&line, "verified");
    fputs(",\"digest\":\"", line.to);
    for (size_t i = 0; i < ND_DIGEST_BYTES; i++)
        fprintf(line.to, "%02x", digest[i]);
    fprintf(line.to, "\",\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64, messages, bytes);
    emit(&line);
}

void nd_counters(uint64_t id, uint64_t at_ns, const struct nd_value *values, size_t count) {
    struct line line;
    begin(&line, "counters");
    fprintf(line.to, ",\"id\":%" PRIu64 ",\"at_ns\":%" PRIu64, id, at_ns);
    put_values(&line, values, count);
    emit(&line);
}

void nd_result(const struct nd_value *values, size_t count, const struct nd_encoded *histograms, size_t histogram_count) {
    struct line line;
    begin(&line, "result");
    put_values(&line, values, count);
    fputs(",\"histograms\":{", line.to);
    for (size_t i = 0; i < histogram_count; i++) {
        fprintf(line.to, "%s\"%s\":\"%s\"", i > 0 ? "," : "", histograms[i].name, histograms[i].text);
        free(histograms[i].text);
    }
    fputc('}', line.to);
    leave(&line, 0);
}
