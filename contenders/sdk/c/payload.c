/* The payload: the header, the body, which is derived from the seed, and the digest of a set. */
#include "netdyno.h"

#include <endian.h>
#include <string.h>

void nd_header_write(uint8_t *message, uint32_t stream, uint64_t sequence) {
    uint64_t first = htobe64(sequence);
    uint64_t second = htobe64((uint64_t)stream << 32); /* the zero field is its lower half */
    memcpy(message, &first, sizeof first);
    memcpy(message + sizeof first, &second, sizeof second);
}

bool nd_header_read(const uint8_t *message, size_t length, uint32_t *stream, uint64_t *sequence) {
    uint64_t first, second;
    if (length < ND_HEADER_BYTES)
        return false;
    memcpy(&first, message, sizeof first);
    memcpy(&second, message + sizeof first, sizeof second);
    *sequence = be64toh(first);
    *stream = (uint32_t)(be64toh(second) >> 32);
    return (uint32_t)be64toh(second) == 0;
}

void nd_message_fill(uint8_t *message, size_t length, uint64_t seed, uint32_t stream, uint64_t sequence) {
    struct __attribute__((packed)) {
        uint64_t seed;
        uint32_t stream;
        uint64_t sequence;
        uint32_t block;
    } input = {htobe64(seed), htobe32(stream), htobe64(sequence), 0};
    size_t header = length < ND_HEADER_BYTES ? 0 : ND_HEADER_BYTES;
    if (header > 0)
        nd_header_write(message, stream, sequence);
    uint32_t block = 0;
    for (size_t at = header; at < length; at += ND_DIGEST_BYTES) {
        uint8_t hash[ND_DIGEST_BYTES];
        size_t left = length - at;
        input.block = htobe32(block++);
        nd_sha256(&input, sizeof input, hash);
        memcpy(message + at, hash, left < sizeof hash ? left : sizeof hash);
    }
}

void nd_digest_add(uint8_t digest[ND_DIGEST_BYTES], const uint8_t *message, size_t length) {
    uint8_t hash[ND_DIGEST_BYTES];
    nd_sha256(message, length, hash);
    for (size_t i = 0; i < sizeof hash; i++)
        digest[i] ^= hash[i];
}
