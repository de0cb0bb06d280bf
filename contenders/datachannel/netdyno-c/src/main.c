/* The `datachannel` workload on the C API of netdyno-rtc: one thread and one reactor for all connections of a role, as in the contender
* `netdyno`. The thread that reads the lab's lines passes orders to it. */
#include "books.h"
#include "netdyno_rtc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELLO "hello"
#define LABEL "netdyno"

enum {
    HELLO_BYTES = 5,
    LABEL_BYTES = 7,
    EARLY_MAX = 64,               /* candidates before the description */
    MESSAGE_BYTES_MAX = 262144,   /* the library's default */
    TURN_BYTES = 1 << 20,         /* maximum total of all channels between two turns */
    SLICE_BYTES = 1 << 17,        /* maximum of one channel before the next channel sends */
};

struct end {
    uint64_t connection;
    uint32_t channel;
    bool is_made, has_channel, is_writable, is_described, is_open, has_hello;
    uint64_t sequence;
    struct receiver receiver;
    char *early[EARLY_MAX]; /* candidates before the description */
    size_t early_count;
};

/* An order of the lab. */
struct order {
    struct order *next;
    enum nd_phase phase; /* ND_PHASE_NONE: a signal */
    struct nd_json *body;
};

static struct books books;
static nd_reactor *reactor;
static nd_waker *waker;
static struct end *ends;
static enum nd_phase phase;
static bool told;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct order *orders, **last_order = &orders;
static bool must_stop, has_stopped;
static pthread_cond_t stopped = PTHREAD_COND_INITIALIZER;

/* Connections whose channels have space, each once. */
static size_t *writable, writable_first, writable_count;

/* A hash table from connections to ends: open addressing with twice as many places as ends. */
static struct end **places;
static size_t places_mask;

static uint8_t *batch[BATCH_MAX];
static size_t batch_count;

static void need(nd_code result, size_t number) {
    if (result != ND_OK)
        nd_failed("connection %zu: %s", number, nd_error_text());
}

static void *zeroed(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL)
        nd_failed("no memory");
    return memory;
}

static struct end **place_of(uint64_t connection) {
    size_t at = (connection * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    while (places[at & places_mask] != NULL && places[at & places_mask]->connection != connection)
        at++;
    return &places[at & places_mask];
}

static void has_room(size_t number) {
    if (ends[number].is_writable)
        return;
    ends[number].is_writable = true;
    writable[(writable_first + writable_count++) % books.pairs] = number;
}

static void make(size_t number) {
    struct end *end = &ends[number];
    books.created_ns[number] = nd_now_ns();
    /* The answerer has one port for all connections, so the offerer needs one port for each. */
    need(nd_reactor_add(reactor, books.offers ? ND_PORT_OWN : ND_PORT_SHARED, &end->connection), number);
    end->is_made = true;
    *place_of(end->connection) = end;
}

static void describe(size_t number, char *sdp) {
    books_describe(&books, number, sdp);
    nd_text_free(sdp);
}

static void offer(size_t number) {
    struct end *end = &ends[number];
    const nd_channel_options options = {.unordered = !books.ordered};
    char *sdp;
    make(number);
    need(nd_connection_create_channel(reactor, end->connection, LABEL, LABEL_BYTES, &options, &end->channel), number);
    end->has_channel = true;
    need(nd_connection_set_buffered_low(reactor, end->connection, end->channel, books.high_water_bytes / 2), number);
    need(nd_connection_create_offer(reactor, end->connection, 0, &sdp, NULL), number);
    describe(number, sdp);
}

static void take_candidate(size_t number, const char *candidate) {
    if (*candidate != 0)
        need(nd_connection_add_remote_candidate(reactor, ends[number].connection, candidate, strlen(candidate)), number);
}

static void take_description(size_t number, const char *sdp) {
    struct end *end = &ends[number];
    if (end->is_described)
        nd_failed("connection %zu: duplicate description", number);
    end->is_described = true;
    if (books.offers) {
        need(nd_connection_accept_answer(reactor, end->connection, sdp, strlen(sdp)), number);
    } else {
        char *answer;
        make(number);
        need(nd_connection_accept_offer(reactor, end->connection, sdp, strlen(sdp), &answer, NULL), number);
        describe(number, answer);
    }
    for (size_t i = 0; i < end->early_count; i++) {
        take_candidate(number, end->early[i]);
        free(end->early[i]);
    }
    end->early_count = 0;
}

static void take_signal(const struct nd_json *body) {
    const int64_t number = nd_json_integer(nd_json_get(body, "connection"));
    const char *type = nd_json_text(nd_json_get(body, "type"));
    const char *sdp = nd_json_text(nd_json_get(body, "sdp"));
    const char *candidate = nd_json_text(nd_json_get(body, "candidate"));
    if (type == NULL || number < 0 || (uint64_t)number >= books.pairs)
        nd_failed("invalid signal");
    struct end *end = &ends[number];
    if (strcmp(type, books.offers ? "answer" : "offer") == 0 && sdp != NULL) {
        take_description((size_t)number, sdp);
    } else if (strcmp(type, "candidate") == 0 && candidate != NULL) {
        if (end->is_described) {
            take_candidate((size_t)number, candidate);
        } else {
            if (end->early_count == EARLY_MAX)
                nd_failed("connection %lld: too many candidates before the description", (long long)number);
            char *copy = strdup(candidate);
            if (copy == NULL)
                nd_failed("no memory");
            end->early[end->early_count++] = copy;
        }
    } else {
        nd_failed("connection %lld: invalid signal", (long long)number);
    }
}

static void is_up(struct end *end, size_t number) {
    if (end->is_open && (end->has_hello || !books.offers))
        books_up(&books, number);
}

static void take_message(struct end *end, size_t number, const nd_event *event) {
    if (!books.offers) {
        books_take(&books, &end->receiver, number, event->data, event->length);
    } else {
        if (event->length != HELLO_BYTES || memcmp(event->data, HELLO, HELLO_BYTES) != 0)
            nd_failed("connection %zu: expected the hello", number);
        end->has_hello = true;
        is_up(end, number);
    }
}

static void happened(const nd_event *event) {
    struct end *end = *place_of(event->connection);
    if (end == NULL)
        return;
    const size_t number = (size_t)(end - ends);
    switch (event->what) {
    case ND_EVENT_MESSAGE:
        take_message(end, number, event);
        break;
    case ND_EVENT_OPEN:
        end->is_open = true;
        if (!books.offers) {
            end->channel = event->channel;
            need(nd_connection_send(reactor, end->connection, end->channel, ND_BINARY, HELLO, HELLO_BYTES), number);
        }
        is_up(end, number);
        break;
    case ND_EVENT_BUFFERED_LOW:
    case ND_EVENT_WRITABLE:
        has_room(number);
        break;
    case ND_EVENT_FAILED:
        nd_failed("connection %zu: %.*s", number, (int)event->length, (const char *)event->data);
    case ND_EVENT_STATE:
        /* The lab stops the offerer first, so only the offerer treats this as an error. */
        if (event->value == ND_STATE_CLOSED && books.offers)
            nd_failed("connection %zu: the other role closed it", number);
        break;
    }
}

/* The number of messages that may be sent on a connection with `room` bytes of space. */
static size_t due(const struct end *end, size_t room) {
    size_t count = (room + books.message_bytes - 1) / books.message_bytes;
    if (phase == ND_PHASE_NONE)
        return 0;
    if (phase == ND_PHASE_VERIFY) {
        const uint64_t left = end->sequence < books.verify_messages ? books.verify_messages - end->sequence : 0;
        count = left < count ? left : count;
    }
    return count < batch_count ? count : batch_count;
}

/* Sends until the channel's buffered amount reaches high_water_bytes, or `slice` bytes. Returns the number of sent bytes. */
static size_t fill(size_t number, size_t slice) {
    struct end *end = &ends[number];
    const size_t buffered = nd_connection_buffered_amount(reactor, end->connection, end->channel);
    const size_t left = buffered < books.high_water_bytes ? books.high_water_bytes - buffered : 0;
    const size_t room = left < slice ? left : slice;
    size_t given = 0, count;
    while (given < room && (count = due(end, room - given)) > 0) {
        nd_bytes list[BATCH_MAX];
        size_t sent;
        for (size_t i = 0; i < count; i++) {
            books_message(&books, batch[i], number, end->sequence + i);
            list[i] = (nd_bytes){batch[i], books.message_bytes};
        }
        /* Counted before the send, so that no uncounted message is received. The other thread may read the counters now. */
        nd_add(&books.messages, count, false);
        nd_add(&books.bytes, count * books.message_bytes, false);
        const nd_code result = nd_connection_send_many(reactor, end->connection, end->channel, ND_BINARY, list, count, &sent);
        nd_add(&books.messages, sent - count, false);
        nd_add(&books.bytes, (sent - count) * books.message_bytes, false);
        end->sequence += sent;
        given += sent * books.message_bytes;
        /* Unacknowledged data fills the library's buffer; an event reports when it has space. */
        if (result == ND_NOT_NOW)
            break;
        need(result, number);
    }
    return given;
}

/* Sends on the channels with space, up to TURN_BYTES. Returns whether some still have space. */
static bool feed(void) {
    for (size_t left = TURN_BYTES; left > 0 && writable_count > 0;) {
        const size_t number = writable[writable_first], slice = left < SLICE_BYTES ? left : SLICE_BYTES;
        writable_first = (writable_first + 1) % books.pairs;
        writable_count--;
        ends[number].is_writable = false;
        const size_t given = fill(number, slice);
        if (given >= slice)
            has_room(number);
        left -= given < left ? given : left;
    }
    return writable_count > 0;
}

/* ---- the thread that reads the lab's lines ---- */

static void put(enum nd_phase of, struct nd_json *body) {
    struct order *order = zeroed(1, sizeof *order);
    *order = (struct order){.phase = of, .body = body};
    pthread_mutex_lock(&lock);
    *last_order = order;
    last_order = &order->next;
    pthread_mutex_unlock(&lock);
    nd_waker_wake(waker);
}

static void on_signal(void *self, const struct nd_json *body) {
    (void)self;
    put(ND_PHASE_NONE, nd_json_copy(body));
}

static void on_start(void *self, enum nd_phase begun, uint64_t at_ns) {
    (void)self;
    (void)at_ns;
    put(begun, NULL);
}

static size_t values(void *self, struct nd_value *list) {
    (void)self;
    return books_values(&books, list);
}

/* Messages that are sent after the result would be received but not counted. */
static void on_stop(void *self) {
    (void)self;
    pthread_mutex_lock(&lock);
    must_stop = true;
    nd_waker_wake(waker);
    while (!has_stopped)
        pthread_cond_wait(&stopped, &lock);
    pthread_mutex_unlock(&lock);
}

/* ---- the main thread ---- */

static void obey(void) {
    pthread_mutex_lock(&lock);
    struct order *order = orders;
    orders = NULL;
    last_order = &orders;
    has_stopped = must_stop;
    pthread_cond_signal(&stopped);
    pthread_mutex_unlock(&lock);
    while (has_stopped)
        pause(); /* the other thread ends the process */
    while (order != NULL) {
        struct order *next = order->next;
        if (order->phase == ND_PHASE_NONE) {
            take_signal(order->body);
            free(order->body);
        } else {
            phase = order->phase;
            for (size_t i = 0; books.offers && i < books.pairs; i++)
                has_room(i);
        }
        free(order);
        order = next;
    }
}

static void prepare(const struct nd_setup *setup) {
    char address[80];
    books_open(&books, setup, MESSAGE_BYTES_MAX);
    ends = zeroed(books.pairs, sizeof *ends);
    writable = zeroed(books.pairs, sizeof *writable);
    for (places_mask = 1; places_mask < 2 * books.pairs; places_mask *= 2) {
    }
    places = zeroed(places_mask--, sizeof *places);
    batch_count = SLICE_BYTES / books.message_bytes;
    batch_count = batch_count < 1 ? 1 : batch_count > BATCH_MAX ? BATCH_MAX : batch_count;
    for (size_t i = 0; i < batch_count; i++)
        batch[i] = zeroed(books.message_bytes, 1);
    snprintf(address, sizeof address, strchr(setup->local, ':') ? "[%s]:0" : "%s:0", setup->local);
    if (nd_reactor_bind(address, strlen(address), NULL, &reactor) != ND_OK || nd_reactor_waker(reactor, &waker) != ND_OK)
        nd_failed("%s", nd_error_text());
}

int main(void) {
    static const struct nd_role role = {.signal = on_signal, .start = on_start, .values = values, .stop = on_stop};
    struct nd_setup setup;
    const nd_event *events;
    size_t count;
    nd_connect(&setup);
    prepare(&setup);
    nd_follow(&role);
    nd_ready("netdyno-rtc-c", nd_version());
    for (size_t i = 0; books.offers && i < books.pairs; i++)
        offer(i);
    for (bool goes_on = false;;) {
        if (nd_reactor_poll(reactor, goes_on ? 0 : ND_FOREVER, &events, &count) != ND_OK)
            nd_failed("%s", nd_error_text());
        for (size_t i = 0; i < count; i++)
            happened(&events[i]);
        obey();
        goes_on = books.offers && feed();
        if (!told && phase == ND_PHASE_VERIFY && !books.offers && books_all_verified(&books)) {
            nd_verified(books.digest, books.verified, books.verified_bytes);
            told = true;
        }
    }
}
