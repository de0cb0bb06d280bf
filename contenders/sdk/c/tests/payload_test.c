/* The payload: the protocol's test vector, and the digest of a set. */
#include "check.h"
#include "netdyno.h"

#include <string.h>

static const char VECTOR[] = "8eb1afe42c57d17ba06d68c55ccc9b69eb98f1693ceb3e94f624dc95c7ccb2fe";

static void test_vector(void) {
    uint8_t message[80], digest[ND_DIGEST_BYTES] = {0}, nothing[ND_DIGEST_BYTES] = {0};
    char text[2 * ND_DIGEST_BYTES + 1];
    nd_message_fill(message, sizeof message, 1, 2, 3);
    nd_digest_add(digest, message, sizeof message);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    CHECK(strcmp(text, VECTOR) == 0, "%s", text);
    nd_digest_add(digest, message, sizeof message);
    CHECK(memcmp(digest, nothing, sizeof digest) == 0, "adding a message twice does not yield the empty digest");
    uint8_t brief[4] = {0, 0, 0, 0xa5};
    nd_message_fill(brief, 3, 1, 2, 3);
    CHECK(memcmp(brief, "\xf9\x30\xea\xa5", sizeof brief) == 0, "a message shorter than a header");
}

/* A shorter body is a prefix of a longer one, and nothing beyond it is written. */
static void test_lengths(void) {
    uint8_t whole[ND_HEADER_BYTES + 100];
    nd_message_fill(whole, sizeof whole, 7, 1, 9);
    for (size_t length = ND_HEADER_BYTES; length < sizeof whole; length++) {
        uint8_t part[sizeof whole];
        memset(part, 0xa5, sizeof part);
        nd_message_fill(part, length, 7, 1, 9);
        CHECK(memcmp(part, whole, length) == 0, "length %zu", length);
        CHECK(part[length] == 0xa5, "length %zu: written beyond", length);
    }
}

static void test_header(void) {
    const uint8_t written[ND_HEADER_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0};
    uint8_t message[ND_HEADER_BYTES];
    uint32_t stream;
    uint64_t sequence;
    nd_header_write(message, 0x090a0b0c, 0x0102030405060708);
    CHECK(memcmp(message, written, sizeof message) == 0, "the header's bytes");
    CHECK(nd_header_read(message, sizeof message, &stream, &sequence), "a valid header is rejected");
    CHECK(stream == 0x090a0b0c && sequence == 0x0102030405060708, "%x, %lx", stream, (unsigned long)sequence);
    CHECK(!nd_header_read(message, sizeof message - 1, &stream, &sequence), "too short");
    message[15] = 1;
    CHECK(!nd_header_read(message, sizeof message, &stream, &sequence), "the zero field is not zero");
}

int main(void) {
    test_vector();
    test_lengths();
    test_header();
    return 0;
}
