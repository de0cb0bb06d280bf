/* Histograms: the edges of buckets, and the encoding, which a separate decoder reads. */
#include "check.h"
#include "netdyno.h"

#include <string.h>

enum { HEADER_BYTES = 40, TEXT_BYTES_MAX = 1 << 19 };

static uint64_t number_at(const uint8_t *bytes, int length) {
    uint64_t number = 0;
    for (int i = 0; i < length; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* The range of values of a bucket, by the definition of the layout. */
static void bounds(size_t index, uint64_t *low, uint64_t *high) {
    const size_t half = ND_SUB_BUCKETS / 2;
    size_t doubling = index < ND_SUB_BUCKETS ? 0 : index / half - 1;
    uint64_t step = index < ND_SUB_BUCKETS ? index : index % half + half;
    *low = step << doubling;
    *high = ((step + 1) << doubling) - 1;
}

static int decode_base64(uint8_t *bytes, const char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t length = strlen(text);
    CHECK(length % 4 == 0, "%zu digits", length);
    for (size_t at = 0; at < length; at += 4) {
        uint32_t group = 0;
        for (size_t i = 0; i < 4; i++) {
            const char *digit = strchr(digits, text[at + i]);
            CHECK(digit != NULL || (text[at + i] == '=' && at + i + 2 >= length), "digit %zu", at + i);
            group = group << 6 | (digit ? (uint32_t)(digit - digits) : 0);
        }
        for (int i = 0; i < 3; i++)
            *bytes++ = (uint8_t)(group >> (16 - 8 * i));
    }
    return (int)(length / 4 * 3);
}

/* Fills in the counts and returns the number of buckets in the encoding. */
static size_t decode(const char *text, uint64_t *counts) {
    static uint8_t bytes[TEXT_BYTES_MAX];
    memset(counts, 0, ND_BUCKETS * sizeof *counts);
    CHECK(strlen(text) < sizeof bytes, "%zu bytes of text", strlen(text));
    int length = decode_base64(bytes, text);
    CHECK(length >= HEADER_BYTES, "%d bytes", length);
    CHECK(number_at(bytes, 4) == 0x1c849313, "cookie");
    CHECK(number_at(bytes + 8, 4) == 0, "normalising offset");
    CHECK(number_at(bytes + 12, 4) == 3, "digits");
    CHECK(number_at(bytes + 16, 8) == 1, "lowest");
    CHECK(number_at(bytes + 24, 8) == 60000000000, "highest");
    CHECK(number_at(bytes + 32, 8) == 0x3ff0000000000000, "ratio");
    size_t end = HEADER_BYTES + number_at(bytes + 4, 4), index = 0;
    CHECK(end <= (size_t)length && end + 3 > (size_t)length, "payload of %zu in %d", end - HEADER_BYTES, length);
    for (size_t at = HEADER_BYTES; at < end;) {
        uint64_t raw = 0;
        for (int shift = 0; shift <= 56; shift += 7) {
            uint8_t byte = bytes[at++];
            raw |= (uint64_t)(shift == 56 ? byte : byte & 0x7f) << shift;
            if (byte < 0x80)
                break;
        }
        int64_t number = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
        if (number < 0)
            index += (size_t)-number;
        else
            counts[index++] = (uint64_t)number;
        CHECK(index <= ND_BUCKETS, "beyond the last bucket");
    }
    return index;
}

static void test_edges(void) {
    static uint64_t counts[ND_BUCKETS];
    static const uint64_t values[] = {1, 2, 2047, 2048, 2049, 4095, 4096, 999999, 1000000000, 59999999999,
                                      60000000000};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        static struct nd_histogram histogram;
        uint64_t low, high;
        memset(&histogram, 0, sizeof histogram);
        nd_histogram_record(&histogram, values[i], i % 2 == 0);
        char *text = nd_histogram_encode(&histogram);
        size_t reached = decode(text, counts);
        free(text);
        CHECK(reached > 0 && counts[reached - 1] == 1, "%lu: no count", (unsigned long)values[i]);
        bounds(reached - 1, &low, &high);
        CHECK(low <= values[i] && values[i] <= high, "%lu is in %lu to %lu", (unsigned long)values[i],
              (unsigned long)low, (unsigned long)high);
        CHECK((high - low) * 1000 <= low || low == high, "%lu: too coarse", (unsigned long)values[i]);
    }
}

static void test_out_of_range(void) {
    static struct nd_histogram histogram;
    static uint64_t counts[ND_BUCKETS];
    nd_histogram_record(&histogram, 0, false);
    nd_histogram_record(&histogram, UINT64_MAX, false);
    nd_histogram_record(&histogram, ND_VALUE_MAX, false);
    char *text = nd_histogram_encode(&histogram);
    size_t reached = decode(text, counts);
    free(text);
    CHECK(counts[1] == 1 && counts[reached - 1] == 2, "0 counts as the minimum, greater values as the maximum");
}

/* Known bytes: the reference encoding without values, and with one value 5. */
static void test_known_bytes(void) {
    static struct nd_histogram histogram;
    char *text = nd_histogram_encode(&histogram);
    CHECK(strcmp(text, "HISTEwAAAAAAAAAAAAAAAwAAAAAAAAABAAAADfhHWAA/8AAAAAAAAA==") == 0, "%s", text);
    free(text);
    nd_histogram_record(&histogram, 5, false);
    text = nd_histogram_encode(&histogram);
    CHECK(strcmp(text, "HISTEwAAAAIAAAAAAAAAAwAAAAAAAAABAAAADfhHWAA/8AAAAAAAAAkC") == 0, "%s", text);
    free(text);
}

static void test_many(void) {
    static struct nd_histogram histogram;
    static uint64_t counts[ND_BUCKETS];
    uint64_t x = 88172645463325252, total = 0; /* a fixed seed, so that failures are reproducible */
    for (int i = 0; i < 1000000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        nd_histogram_record(&histogram, x >> (x % 64), false);
    }
    char *text = nd_histogram_encode(&histogram);
    decode(text, counts);
    free(text);
    for (size_t i = 0; i < ND_BUCKETS; i++) {
        CHECK(counts[i] == nd_read(&histogram.counts[i]), "bucket %zu", i);
        total += counts[i];
    }
    CHECK(total == 1000000, "%lu values", (unsigned long)total);
}

int main(void) {
    test_edges();
    test_out_of_range();
    test_known_bytes();
    test_many();
    return 0;
}
