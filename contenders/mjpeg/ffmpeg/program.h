/* An external program that runs a role: it is started with pipes and ends with the adapter. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

enum {
    ARGUMENTS_MAX = 32,
    ARGUMENT_BYTES_MAX = 192,
};

/* The arguments; the first one is the name. */
struct command {
    char texts[ARGUMENTS_MAX][ARGUMENT_BYTES_MAX];
    char *arguments[ARGUMENTS_MAX + 1];
    unsigned count;
};

/* Adds arguments, which are separated by spaces. */
void command_add(struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Starts the program. `in` is set to the write end of its stdin. Returns the read end of its stdout, or -1 without `reads`, in which
* case stdout is /dev/null. */
int program_start(struct command *command, int *in, bool reads);
/* Ends the program. May be called from any thread. */
void program_end(void);
/* Call it when the program has closed a pipe. It prints `failed`, unless program_end was called. */
noreturn void program_has_ended(const char *name);
/* Returns the version X that the program prints as "NAME version X" with -version or --version. */
const char *program_version(const char *name, const char *option);

/* Returns a free even UDP port at this address, the next port of which is also free. */
uint16_t port_choose(const char *address);
/* Waits until a process on this host has bound the port. */
void port_await(const char *program, uint16_t port);

#endif
