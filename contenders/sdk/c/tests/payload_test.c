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

/* Lengths on both sides of a block, from another implementation. */
static void test_sha256(void) {
    static const struct {
        size_t length;
        const char *hash;
    } rows[] = {
        {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
        {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
        {128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"},
        {1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
    };
    static uint8_t data[1000];
    memset(data, 'a', sizeof data);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t hash[ND_DIGEST_BYTES];
        char text[2 * ND_DIGEST_BYTES + 1];
        nd_sha256(data, rows[i].length, hash);
        for (size_t at = 0; at < sizeof hash; at++)
            snprintf(text + 2 * at, 3, "%02x", hash[at]);
        CHECK(strcmp(text, rows[i].hash) == 0, "%zu bytes: %s", rows[i].length, text);
    }
}

int main(void) {
    test_sha256();
    test_vector();
    test_lengths();
    test_header();
    return 0;
}
