/* SHA-256 (FIPS 180-4). */
#include "netdyno.h"

#include <endian.h>
#include <string.h>

enum { BLOCK_BYTES = 64, BLOCK_WORDS = 16, ROUNDS = 64, LENGTH_BYTES = 8, STATE_WORDS = 8 };

/* Section 4.2.2: the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* Section 5.3.3: the fractional parts of the square roots of the first 8 primes. */
static const uint32_t INITIAL[STATE_WORDS] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t rotated(uint32_t word, int bits) {
    return word >> bits | word << (32 - bits);
}

/* Section 6.2.2. */
static void add_block(uint32_t state[STATE_WORDS], const uint8_t *block) {
    uint32_t w[ROUNDS], s[STATE_WORDS];
    for (int t = 0; t < BLOCK_WORDS; t++) {
        memcpy(&w[t], block + 4 * t, sizeof w[t]);
        w[t] = be32toh(w[t]);
    }
    for (int t = BLOCK_WORDS; t < ROUNDS; t++) {
        const uint32_t near = w[t - 2], far = w[t - 15];
        w[t] = (rotated(near, 17) ^ rotated(near, 19) ^ near >> 10) + w[t - 7] + (rotated(far, 7) ^ rotated(far, 18) ^ far >> 3) +
               w[t - 16];
    }
    memcpy(s, state, sizeof s);
    for (int t = 0; t < ROUNDS; t++) {
        const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]), majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        const uint32_t first = s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) + choice + K[t] + w[t];
        const uint32_t second = (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) + majority;
        memmove(s + 1, s, sizeof s - sizeof *s);
        s[4] += first;
        s[0] = first + second;
    }
    for (int i = 0; i < STATE_WORDS; i++)
        state[i] += s[i];
}

void nd_sha256(const void *data, size_t length, uint8_t hash[ND_DIGEST_BYTES]) {
    uint32_t state[STATE_WORDS];
    uint8_t last[2 * BLOCK_BYTES] = {0};
    const uint8_t *bytes = data;
    const size_t whole = length / BLOCK_BYTES * BLOCK_BYTES, rest = length - whole;
    /* Section 5.1.1: a one bit, zeros, and the length in bits at the end of a block. */
    const size_t padded = rest + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    const uint64_t bits = htobe64(8 * (uint64_t)length);
    memcpy(state, INITIAL, sizeof state);
    for (size_t at = 0; at < whole; at += BLOCK_BYTES)
        add_block(state, bytes + at);
    if (rest > 0)
        memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    memcpy(last + padded - LENGTH_BYTES, &bits, sizeof bits);
    for (size_t at = 0; at < padded; at += BLOCK_BYTES)
        add_block(state, last + at);
    for (int i = 0; i < STATE_WORDS; i++) {
        const uint32_t word = htobe32(state[i]);
        memcpy(hash + 4 * i, &word, sizeof word);
    }
}
