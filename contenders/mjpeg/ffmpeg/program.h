/* A program that plays a role: started with pipes, and ended with the adapter. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

enum {
    ARGUMENTS_MAX = 32,
    ARGUMENT_BYTES_MAX = 192,
};

/* Its arguments, the first one its name. */
struct command {
    char texts[ARGUMENTS_MAX][ARGUMENT_BYTES_MAX];
    char *arguments[ARGUMENTS_MAX + 1];
    unsigned count;
};

/* Adds arguments: words, with spaces between them. */
void command_add(struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Starts the program; `in` becomes the end of its stdin that is written to. Gives the end of its stdout that is read, or, if not
 * `reads`, -1: its stdout goes to /dev/null. */
int program_start(struct command *command, int *in, bool reads);
/* Ends the program. From any thread. */
void program_end(void);
/* To be called when it has closed a pipe: that is a failure, unless it was ended. */
noreturn void program_has_ended(const char *name);
/* The version that it says of itself: "NAME version X" with -version or --version. */
const char *program_version(const char *name, const char *option);

/* An even UDP port that is free at this address, and the next one too. */
uint16_t port_choose(const char *address);
/* Waits until somebody on this host has bound it. */
void port_await(const char *program, uint16_t port);

#endif
