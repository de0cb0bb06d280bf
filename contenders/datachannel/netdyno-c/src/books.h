/* State and counters of a `datachannel` role: generation and checks of messages, and signals. */
#ifndef BOOKS_H
#define BOOKS_H

#include "netdyno.h"

enum { MISSING_MAX = 4096, BATCH_MAX = 16 };

struct books {
    bool offers, ordered;
    uint64_t seed, pairs, message_bytes, verify_messages, high_water_bytes;
    /* Written only by the main thread. */
    nd_counter messages, bytes, gaps, repeats, disorder;
    uint8_t digest[ND_DIGEST_BYTES];
    uint64_t verified, verified_bytes, up;
    uint64_t *created_ns, *setup_ns;
    uint8_t *expected; /* a message of the verify phase, to compare with */
};

/* The received messages of one connection, with the sorted missing numbers. */
struct receiver {
    uint64_t next;
    uint64_t *missing;
    size_t count, room;
};

/* Another workload, an unknown role or messages longer than `max_message_bytes` are unsupported. */
void books_open(struct books *books, const struct nd_setup *setup, uint64_t max_message_bytes);
size_t books_values(const struct books *books, struct nd_value *values);

/* Sends this role's description of a connection to the other role. */
void books_describe(const struct books *books, size_t number, const char *sdp);

/* Reports that a connection is established. Prints `connected` when all are. */
void books_up(struct books *books, size_t number);

/* Writes message number `sequence` into a buffer that contains an earlier one. */
void books_message(const struct books *books, uint8_t *message, size_t number, uint64_t sequence);

/* Checks and counts a message. A wrong one ends the process with `failed`. */
void books_take(struct books *books, struct receiver *receiver, size_t number, const void *message, size_t length);

/* Whether all messages of the verify phase have arrived. */
bool books_all_verified(const struct books *books);

#endif
