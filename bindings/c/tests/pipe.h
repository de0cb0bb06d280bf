/* Texts over stdin and stdout, each preceded by a line with its length; and assertions. */
#ifndef PIPE_H
#define PIPE_H

#include "netdyno_rtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void need(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s; the library's last error: %s\n", what, nd_error_text());
        exit(1);
    }
}

#define OK(call) need((call) == ND_OK, #call)
#define NEED(holds) need((holds), #holds)

static inline void put(const char *text, size_t length) {
    printf("%zu\n", length);
    fwrite(text, 1, length, stdout);
    fflush(stdout);
}

/* Free the result; NULL at the end of stdin. */
static inline char *get(size_t *length) {
    if (scanf("%zu", length) != 1)
        return NULL;
    NEED(getchar() == '\n');
    char *text = malloc(*length + 1);
    NEED(text != NULL && fread(text, 1, *length, stdin) == *length);
    text[*length] = 0;
    return text;
}

/* Continues a 32-bit FNV-1a hash, initially 0x811c9dc5, with these bytes. */
static inline uint32_t digest(uint32_t hash, const void *data, size_t length) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 0x01000193;
    return hash;
}

#endif
