/* The books of a role of the `datachannel` workload: messages as they are due, what came and what is missing, and what the two roles say
 * to each other. */
#ifndef BOOKS_H
#define BOOKS_H

#include "netdyno.h"

enum { MISSING_MAX = 4096, BATCH_MAX = 16 };

struct books {
    bool offers, ordered;
    uint64_t seed, pairs, message_bytes, verify_messages, high_water_bytes;
    /* By one writer each, the main thread. */
    nd_counter messages, bytes, gaps, repeats, disorder;
    uint8_t digest[ND_DIGEST_BYTES];
    uint64_t verified, verified_bytes, up;
    uint64_t *created_ns, *setup_ns;
    uint8_t *expected; /* a message of the verify phase, to compare with */
};

/* What came on one connection: numbers skipped and not come, in their order. */
struct receiver {
    uint64_t next;
    uint64_t *missing;
    size_t count, room;
};

/* Another workload, an unknown role or messages beyond `max_message_bytes` are unsupported. */
void books_open(struct books *books, const struct nd_setup *setup, uint64_t max_message_bytes);
size_t books_values(const struct books *books, struct nd_value *values);

/* To the other role: this role's description of a connection. */
void books_describe(const struct books *books, size_t number, const char *sdp);

/* The connection is up, as the contract says for this role; tells the lab when all are. */
void books_up(struct books *books, size_t number);

/* A message whose number is `sequence`, in a buffer that held one before. */
void books_message(const struct books *books, uint8_t *message, size_t number, uint64_t sequence);

/* Takes a message; a wrong one ends the process with `failed`. */
void books_take(struct books *books, struct receiver *receiver, size_t number, const void *message, size_t length);

/* Whether all messages of the verify phase have come. */
bool books_all_verified(const struct books *books);

#endif
