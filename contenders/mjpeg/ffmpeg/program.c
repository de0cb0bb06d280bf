#include "program.h"

#include "netdyno.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PORTS_TRIED_MAX = 1000,
    LOOK_US = 1000,
    LOOKS_MAX = 10000, /* ten seconds */
};

static _Atomic pid_t running; /* 0 if not started */
static atomic_bool is_ended;

static void must(int result, const char *what) {
    if (result < 0)
        nd_failed("%s: %s", what, strerror(errno));
}

void command_add(struct command *command, const char *format, ...) {
    char words[1024], *rest = words, *word;
    va_list values;
    va_start(values, format);
    int length = vsnprintf(words, sizeof words, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= sizeof words)
        nd_failed("command too long: %s", words);
    while ((word = strsep(&rest, " ")) != NULL) {
        if (command->count == ARGUMENTS_MAX || strlen(word) >= ARGUMENT_BYTES_MAX)
            nd_failed("too many arguments, or argument too long: %s", word);
        char *text = command->texts[command->count];
        command->arguments[command->count++] = strcpy(text, word);
    }
}

int program_start(struct command *command, int *in, bool reads) {
    int input[2], output[2];
    must(pipe2(input, O_CLOEXEC), "pipe");
    must(pipe2(output, O_CLOEXEC), "pipe");
    const pid_t adapter = getpid(), child = fork();
    must(child, "fork");
    if (child == 0) {
        /* The program must not outlive the adapter, even if the adapter ends before this call. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_DFL);
        const int discard = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (getppid() == adapter && dup2(input[0], STDIN_FILENO) >= 0 &&
            dup2(reads ? output[1] : discard, STDOUT_FILENO) >= 0)
            execvp(command->arguments[0], command->arguments);
        _exit(127);
    }
    running = child;
    close(input[0]);
    close(output[1]);
    *in = input[1];
    if (reads)
        return output[0];
    close(output[0]);
    return -1;
}

void program_end(void) {
    atomic_store(&is_ended, true);
    const pid_t child = running;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
}

noreturn void program_has_ended(const char *name) {
    while (atomic_load(&is_ended)) /* the process is about to exit */
        pause();
    nd_failed("%s ended by itself", name);
}

const char *program_version(const char *name, const char *option) {
    static char version[ARGUMENT_BYTES_MAX];
    char line[ARGUMENT_BYTES_MAX];
    snprintf(line, sizeof line, "%s %s 2>/dev/null", name, option);
    FILE *output = popen(line, "r");
    if (output == NULL || fscanf(output, "%*s version %191s", version) != 1)
        nd_failed("`%s %s` prints no version; is it installed?", name, option);
    while (fgets(line, sizeof line, output) != NULL) /* avoids SIGPIPE in the program */
        continue;
    pclose(output);
    return version;
}

/* Returns false if the port is in use. */
static bool bind_at(int fd, struct in_addr address, uint16_t port) {
    const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
    return bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
}

uint16_t port_choose(const char *address) {
    struct in_addr at;
    if (inet_pton(AF_INET, address, &at) != 1)
        nd_unsupported("the address %.64s is not IPv4", address);
    for (int tried = 0; tried < PORTS_TRIED_MAX; tried++) {
        struct sockaddr_in bound = {0};
        socklen_t length = sizeof bound;
        const int rtp = socket(AF_INET, SOCK_DGRAM, 0), rtcp = socket(AF_INET, SOCK_DGRAM, 0);
        must(rtp, "socket");
        must(rtcp, "socket");
        if (!bind_at(rtp, at, 0))
            nd_failed("bind to %s: %s", address, strerror(errno));
        must(getsockname(rtp, (struct sockaddr *)&bound, &length), "getsockname");
        const uint16_t port = ntohs(bound.sin_port);
        const bool both = port % 2 == 0 && bind_at(rtcp, at, port + 1);
        close(rtp);
        close(rtcp);
        if (both)
            return port;
    }
    nd_failed("no free pair of UDP ports in %d attempts", PORTS_TRIED_MAX);
}

static bool is_bound(uint16_t port) {
    char line[256];
    unsigned local;
    bool found = false;
    FILE *table = fopen("/proc/self/net/udp", "re");
    if (table == NULL)
        nd_failed("/proc/self/net/udp: %s", strerror(errno));
    while (!found && fgets(line, sizeof line, table) != NULL)
        found = sscanf(line, " %*u: %*x:%x", &local) == 1 && local == port;
    fclose(table);
    return found;
}

void port_await(const char *program, uint16_t port) {
    for (int look = 0; look < LOOKS_MAX; look++) {
        if (is_bound(port))
            return;
        usleep(LOOK_US);
    }
    nd_failed("%s did not bind UDP port %u", program, port);
}
