#include "books.h"

#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL)
        nd_failed("no memory");
    return memory;
}

void books_open(struct books *books, const struct nd_setup *setup, uint64_t max_message_bytes) {
    if (strcmp(setup->workload, "datachannel") != 0)
        nd_unsupported("the workload `%s`", setup->workload);
    *books = (struct books){
        .offers = strcmp(setup->role, "offerer") == 0,
        .ordered = nd_json_is(nd_json_get(setup->params, "ordered"), ND_JSON_TRUE),
        .seed = setup->seed,
        .pairs = nd_param_integer(setup, "pairs", 1, UINT32_MAX),
        .message_bytes = nd_param_integer(setup, "message_bytes", ND_HEADER_BYTES, UINT32_MAX),
        .verify_messages = nd_param_integer(setup, "verify_messages", 1, UINT32_MAX),
        .high_water_bytes = nd_param_integer(setup, "high_water_bytes", 1, UINT32_MAX),
    };
    if (!books->offers && strcmp(setup->role, "answerer") != 0)
        nd_unsupported("the role `%s`", setup->role);
    if (books->message_bytes > max_message_bytes)
        nd_unsupported("messages of %llu bytes; the maximum is %llu", (unsigned long long)books->message_bytes,
                       (unsigned long long)max_message_bytes);
    books->created_ns = zeroed(books->pairs, sizeof *books->created_ns);
    books->setup_ns = zeroed(books->pairs, sizeof *books->setup_ns);
    books->expected = zeroed(books->message_bytes, 1);
}

size_t books_values(const struct books *books, struct nd_value *values) {
    const struct nd_value all[] = {
        {"messages", nd_read(&books->messages)}, {"bytes", nd_read(&books->bytes)},
        {"gaps", nd_read(&books->gaps)},         {"repeats", nd_read(&books->repeats)},
        {"disorder", nd_read(&books->disorder)},
    };
    const size_t count = books->offers ? 2 : sizeof all / sizeof *all;
    memcpy(values, all, count * sizeof *all);
    return count;
}

void books_describe(const struct books *books, size_t number, const char *sdp) {
    char *quoted;
    size_t length;
    FILE *to = open_memstream(&quoted, &length);
    if (to == NULL)
        nd_failed("no memory");
    nd_json_write_text(to, sdp);
    if (fclose(to) != 0)
        nd_failed("no memory");
    nd_signal(books->offers ? "answerer" : "offerer", "{\"connection\":%zu,\"type\":\"%s\",\"sdp\":%s}", number,
              books->offers ? "offer" : "answer", quoted);
    free(quoted);
}

void books_up(struct books *books, size_t number) {
    if (books->setup_ns[number] != 0)
        nd_failed("connection %zu was established twice", number);
    books->setup_ns[number] = nd_now_ns() - books->created_ns[number];
    if (++books->up == books->pairs)
        nd_connected(books->setup_ns, books->pairs);
}

void books_message(const struct books *books, uint8_t *message, size_t number, uint64_t sequence) {
    if (sequence < books->verify_messages)
        nd_message_fill(message, books->message_bytes, books->seed, (uint32_t)number, sequence);
    else
        nd_header_write(message, (uint32_t)number, sequence);
}

/* Records the missing numbers from `next` up to but not including `end`. Numbers beyond the limit remain gaps. */
static void skip(struct receiver *receiver, uint64_t end) {
    for (uint64_t at = receiver->next; at < end && receiver->count < MISSING_MAX; at++) {
        if (receiver->count == receiver->room) {
            receiver->room = receiver->room == 0 ? 16 : 2 * receiver->room;
            receiver->missing = realloc(receiver->missing, receiver->room * sizeof *receiver->missing);
            if (receiver->missing == NULL)
                nd_failed("no memory");
        }
        receiver->missing[receiver->count++] = at;
    }
}

/* Removes a number from the missing ones. Returns whether it was missing. */
static bool found(struct receiver *receiver, uint64_t sequence) {
    for (size_t i = 0; i < receiver->count; i++) {
        if (receiver->missing[i] == sequence) {
            receiver->count--;
            memmove(receiver->missing + i, receiver->missing + i + 1, (receiver->count - i) * sizeof *receiver->missing);
            return true;
        }
    }
    return false;
}

/* Records a received number. Returns false for a repeat. */
static bool number_came(struct books *books, struct receiver *receiver, uint64_t sequence) {
    if (sequence >= receiver->next) {
        nd_add(&books->gaps, sequence - receiver->next, false);
        skip(receiver, sequence);
        receiver->next = sequence + 1;
    } else if (found(receiver, sequence)) {
        nd_add(&books->gaps, (uint64_t)-1, false);
        nd_add(&books->disorder, 1, false);
    } else {
        nd_add(&books->repeats, 1, false);
        return false;
    }
    return true;
}

void books_take(struct books *books, struct receiver *receiver, size_t number, const void *message, size_t length) {
    uint32_t stream;
    uint64_t sequence;
    if (length != books->message_bytes || !nd_header_read(message, length, &stream, &sequence) || stream != number)
        nd_failed("connection %zu: invalid message of %zu bytes", number, length);
    if (number_came(books, receiver, sequence) && sequence < books->verify_messages) {
        nd_message_fill(books->expected, length, books->seed, stream, sequence);
        if (memcmp(message, books->expected, length) != 0)
            nd_failed("connection %zu: the body of message %llu is wrong", number, (unsigned long long)sequence);
        nd_digest_add(books->digest, message, length);
        books->verified++;
        books->verified_bytes += length;
    }
    nd_add(&books->bytes, length, false);
    nd_add(&books->messages, 1, false);
}

bool books_all_verified(const struct books *books) {
    return books->verified == books->pairs * books->verify_messages;
}
