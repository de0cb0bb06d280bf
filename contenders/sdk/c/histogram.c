/* HDR histograms and their V2 encoding, big endian:
 *
 *     | cookie u32 | payload length u32 | normalising offset u32 | digits u32 | lowest u64 | highest u64 |
 *     | ratio f64 | payload |
 *
 * The payload is a list of numbers in zigzag LEB128: the count of a bucket, or the negative length of a run of empty
 * buckets. It ends with the last nonempty bucket.
 */
#include "netdyno.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum {
    V2_COOKIE = 0x1c849313,
    HEADER_BYTES = 40,
    NUMBER_BYTES_MAX = 9, /* the ninth byte has eight bits */
    PAYLOAD_BYTES_MAX = ND_BUCKETS * NUMBER_BYTES_MAX,
};

static size_t bucket_of(uint64_t value) {
    if (value < ND_VALUE_MIN)
        value = ND_VALUE_MIN;
    if (value > ND_VALUE_MAX)
        value = ND_VALUE_MAX;
    /* The number of halvings that reduce the value to a sub-bucket. */
    unsigned halvings = 64 - ND_SUB_BUCKET_BITS - (unsigned)__builtin_clzll(value | (ND_SUB_BUCKETS - 1));
    return (size_t)halvings * (ND_SUB_BUCKETS / 2) + (size_t)(value >> halvings);
}

void nd_histogram_record(struct nd_histogram *histogram, uint64_t value, bool several_writers) {
    nd_add(&histogram->counts[bucket_of(value)], 1, several_writers);
}

static size_t write_number(uint8_t *out, int64_t number) {
    uint64_t left = ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
    size_t length = 0;
    while (left >= 0x80 && length < NUMBER_BYTES_MAX - 1) {
        out[length++] = (uint8_t)(left | 0x80);
        left >>= 7;
    }
    out[length++] = (uint8_t)left;
    return length;
}

static size_t write_payload(uint8_t *out, const struct nd_histogram *histogram) {
    size_t length = 0;
    int64_t empty = 0;
    for (size_t i = 0; i < ND_BUCKETS; i++) {
        uint64_t count = nd_read(&histogram->counts[i]);
        if (count == 0) {
            empty++;
            continue;
        }
        if (empty > 0)
            length += write_number(out + length, -empty);
        empty = 0;
        length += write_number(out + length, (int64_t)count);
    }
    return length;
}

static void write_header(uint8_t *out, size_t payload_bytes) {
    const double ratio = 1.0;
    uint64_t ratio_bits;
    memcpy(&ratio_bits, &ratio, sizeof ratio_bits);
    const uint32_t small[] = {htobe32(V2_COOKIE), htobe32((uint32_t)payload_bytes), 0,
                              htobe32(ND_SIGNIFICANT_DIGITS)};
    const uint64_t large[] = {htobe64(ND_VALUE_MIN), htobe64(ND_VALUE_MAX), htobe64(ratio_bits)};
    memcpy(out, small, sizeof small);
    memcpy(out + sizeof small, large, sizeof large);
}

static void write_base64(char *text, const uint8_t *bytes, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < length; at += 3, text += 4) {
        const size_t left = length - at;
        const uint32_t group = (uint32_t)bytes[at] << 16 | (left > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) | (left > 2 ? bytes[at + 2] : 0);
        for (size_t i = 0; i < 4; i++)
            text[i] = i <= left ? digits[group >> (18 - 6 * i) & 63] : '=';
    }
    *text = 0;
}

char *nd_histogram_encode(const struct nd_histogram *histogram) {
    uint8_t *plain = malloc(HEADER_BYTES + PAYLOAD_BYTES_MAX);
    if (plain == NULL)
        nd_failed("out of memory (histogram)");
    size_t payload_bytes = write_payload(plain + HEADER_BYTES, histogram);
    write_header(plain, payload_bytes);
    size_t length = HEADER_BYTES + payload_bytes;
    char *text = malloc((length + 2) / 3 * 4 + 1);
    if (text == NULL)
        nd_failed("out of memory (histogram text)");
    write_base64(text, plain, length);
    free(plain);
    return text;
}
