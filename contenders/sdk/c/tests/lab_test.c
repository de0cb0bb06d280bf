/* The protocol: a child process handles lines, and the test checks its output and exit code. */
#include "check.h"
#include "netdyno.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETUP                                                                                                    \
    "{\"type\":\"setup\",\"protocol\":1,\"workload\":\"w\",\"role\":\"r\",\"seed\":9007199254740991,"             \
    "\"local\":\"127.0.0.1\",\"peer\":\"::1\",\"params\":{\"n\":3,\"s\":0.5},\"capture\":false,\"x\":[1]}\n"

static void take_signal(void *self, const struct nd_json *body) {
    struct nd_json *copy = nd_json_copy(body);
    (void)self;
    nd_signal("other", "%.*s", copy ? (int)copy->source_length : 4, copy ? copy->source : "null");
    free(copy);
}

static void take_start(void *self, enum nd_phase phase, uint64_t at_ns) {
    *(enum nd_phase *)self = phase;
    CHECK(nd_now_ns() - at_ns < 60 * ND_NS_PER_S, "at_ns is not the time of the start");
}

static size_t values(void *self, struct nd_value *values) {
    values[0] = (struct nd_value){"phase", *(enum nd_phase *)self};
    return 1;
}

/* Values that are read afterwards are those of the result. */
static void stop(void *self) {
    *(enum nd_phase *)self = ND_PHASE_MEASURE;
}

static noreturn void contender(void) {
    struct nd_setup setup;
    enum nd_phase phase = ND_PHASE_NONE;
    struct nd_role role = {&phase, take_signal, take_start, values, NULL, stop};
    nd_connect(&setup);
    if (setup.seed != (UINT64_C(1) << 53) - 1 || strcmp(setup.role, "r") != 0 || strcmp(setup.peer, "::1") != 0)
        nd_unsupported("the setup is parsed wrongly");
    if (nd_param_integer(&setup, "n", 1, 3) != 3 || nd_param_number(&setup, "s", 0, 1) != 0.5)
        nd_unsupported("the parameters are parsed wrongly");
    nd_ready("mine", "1.2");
    nd_follow(&role);
    for (;;)
        pause();
}

struct feed {
    int fd;
    const char *text;
};

/* Runs on a thread, because a pipe's capacity is less than the longest lines. */
static void *feed(void *argument) {
    const struct feed *feed = argument;
    size_t length = strlen(feed->text);
    for (size_t at = 0; at < length;) {
        ssize_t wrote = write(feed->fd, feed->text + at, length - at);
        if (wrote <= 0)
            break; /* the contender has ended */
        at += (size_t)wrote;
    }
    close(feed->fd);
    return NULL;
}

static int converse(const char *in, char *out, size_t room) {
    int to[2], from[2], status;
    CHECK(pipe(to) == 0 && pipe(from) == 0, "pipes");
    pid_t child = fork();
    if (child == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        contender();
    }
    close(to[0]);
    close(from[1]);
    struct feed text = {to[1], in};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, feed, &text) == 0, "a thread");
    size_t length = 0;
    ssize_t got;
    while ((got = read(from[0], out + length, room - 1 - length)) > 0)
        length += (size_t)got;
    out[length] = 0;
    close(from[0]);
    pthread_join(thread, NULL);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status), "the child did not exit: %s", out);
    return WEXITSTATUS(status);
}

static char *long_line(size_t length) {
    char *line = malloc(sizeof SETUP + length + 64);
    CHECK(line != NULL, "memory");
    strcpy(line, SETUP);
    char *end = line + strlen(line);
    memset(end, ' ', length);
    memcpy(end, "{\"type\":\"stop\"}", 15);
    end[length] = '\n';
    end[length + 1] = 0;
    return line;
}

static void test_lines(void) {
    char *longest = long_line(ND_LINE_BYTES_MAX), *too_long = long_line(ND_LINE_BYTES_MAX + 1);
    const struct {
        const char *name, *in, *prints;
        int code;
    } rows[] = {
        {"closed at once", "", "", 1},
        {"closed later", SETUP, "ready", 1},
        {"not JSON", "hello\n", "\"failed\"", 1},
        {"not JSON later", SETUP "{\n", "\"failed\"", 1},
        {"no object", SETUP "[]\n", "\"failed\"", 1},
        {"no setup", "{\"type\":\"stop\"}\n", "\"failed\"", 1},
        {"another protocol", "{\"type\":\"setup\",\"protocol\":2}\n", "\"unsupported\"", 127},
        {"a seed that is a text", "{\"type\":\"setup\",\"protocol\":1,\"seed\":\"x\"}\n", "\"failed\"", 1},
        {"an unknown type", SETUP "{\"type\":\"dance\"}\n", "dance", 1},
        {"a mark below 0", SETUP "{\"type\":\"mark\",\"id\":-1}\n", "\"failed\"", 1},
        {"an unknown phase", SETUP "{\"type\":\"start\",\"phase\":\"rest\"}\n", "\"failed\"", 1},
        {"a phase twice", SETUP "{\"type\":\"start\",\"phase\":\"verify\"}\n{\"type\":\"start\",\"phase\":\"verify\"}\n",
         "\"failed\"", 1},
        {"phases backwards", SETUP "{\"type\":\"start\",\"phase\":\"warmup\"}\n{\"type\":\"start\",\"phase\":\"verify\"}\n",
         "\"failed\"", 1},
        {"a signal", SETUP "{\"type\":\"signal\",\"from\":\"o\",\"body\":[1,\"\\u0000\"]}\n{\"type\":\"stop\"}\n",
         "\"body\":[1,\"\\u0000\"]", 0},
        {"a signal without a body", SETUP "{\"type\":\"signal\",\"from\":\"o\"}\n{\"type\":\"stop\"}\n", "\"body\":null}", 0},
        {"an unknown type that is not ASCII", SETUP "{\"type\":\"\\\"\\u00e9\\n\"}\n", "\\u0022\xc3\xa9\\u000a: unknown", 1},
        {"an unknown type that is cut", SETUP "{\"type\":\"0123456789012345678901234567890\\u00e9\"}\n",
         "567890\\ufffd: unknown", 1},
        {"a mark", SETUP "{\"type\":\"start\",\"phase\":\"verify\"}\n{\"type\":\"mark\",\"id\":7}\n{\"type\":\"stop\"}\n",
         "\"values\":{\"phase\":1}}\n{\"type\":\"result\",\"values\":{\"phase\":3},\"histograms\":{}}\n", 0},
        {"the longest line", longest, "\"result\"", 0},
        {"a longer one", too_long, "longer than", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static char out[1 << 16];
        int code = converse(rows[i].in, out, sizeof out);
        CHECK(code == rows[i].code, "%s: exit %d, printed %s", rows[i].name, code, out);
        CHECK(strstr(out, rows[i].prints) != NULL, "%s: printed %s", rows[i].name, out);
        CHECK((rows[i].prints[0] == 0) == (out[0] == 0), "%s: printed %s", rows[i].name, out);
    }
    free(longest);
    free(too_long);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    test_lines();
    return 0;
}
