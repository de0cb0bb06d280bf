/* The twelve reads of a round of `echonet` and the checks of their values. */
#include "echonet.h"

#include <stdio.h>
#include <string.h>

#define NODE_PROFILE {0x0e, 0xf0, 0x01}
#define LIGHTING {0x02, 0x91, 0x01}

const struct nd_property nd_reads[ND_ROUND] = {
    {NODE_PROFILE, 0x80}, {NODE_PROFILE, 0x82}, {NODE_PROFILE, 0x83}, {NODE_PROFILE, 0x8a},
    {NODE_PROFILE, 0x9d}, {NODE_PROFILE, 0x9e}, {NODE_PROFILE, 0x9f}, {NODE_PROFILE, 0xd3},
    {NODE_PROFILE, 0xd4}, {NODE_PROFILE, 0xd6}, {NODE_PROFILE, 0xd7}, {LIGHTING, 0x80},
};

enum {
    BITMAP_BYTES = 17, /* of a property map in its longer form */
    BITMAP_CODES = 16, /* the minimum number of codes for it */
    VERSION_BYTES = 4,
    MANUFACTURER_BYTES = 3,
};

static bool is(const uint8_t *value, size_t length, const void *wanted, size_t wanted_length) {
    return length == wanted_length && memcmp(value, wanted, length) == 0;
}

static bool is_map(const uint8_t *map, size_t length) {
    if (length == 0 || map[0] >= BITMAP_CODES)
        return length == BITMAP_BYTES;
    for (size_t i = 1; i < length; i++)
        if (map[i] < 0x80)
            return false;
    return length == 1 + (size_t)map[0];
}

/* Whether a valid map contains this code. */
static bool has(const uint8_t *map, uint8_t epc) {
    if (map[0] >= BITMAP_CODES)
        return (map[1 + (epc & 0x0f)] >> ((epc >> 4) & 7) & 1) != 0;
    return memchr(map + 1, epc, map[0]) != NULL;
}

bool nd_value_is_same(const struct nd_property *property, const uint8_t *value, size_t length, const uint8_t *before,
                      size_t length_before) {
    if (is(value, length, before, length_before))
        return true;
    if (property->epc < 0x9d || property->epc > 0x9f || !is_map(value, length) || !is_map(before, length_before))
        return false;
    for (unsigned epc = 0x80; epc <= 0xff; epc++)
        if (has(value, (uint8_t)epc) != has(before, (uint8_t)epc))
            return false;
    return true;
}

/* Whether a map contains the codes of 9F that no published library loses. */
static bool has_readable(const uint8_t *map) {
    static const uint8_t readable[] = {0x80, 0x82, 0x83, 0x8a, 0x9d, 0x9e, 0x9f};
    for (size_t i = 0; i < sizeof readable; i++)
        if (!has(map, readable[i]))
            return false;
    return true;
}

static bool is_identification(const uint8_t *value, size_t length, uint64_t seed) {
    uint8_t identifier[ND_IDENTIFIER_BYTES];
    nd_message_fill(identifier, sizeof identifier, seed, 0, 0);
    return length == ND_IDENTIFICATION_BYTES && value[0] == 0xfe &&
           memcmp(value + length - sizeof identifier, identifier, sizeof identifier) == 0;
}

/* The standard excludes the node profile, but several libraries count it. */
static bool is_class_list(const uint8_t *value, size_t length) {
    return is(value, length, "\x01\x02\x91", 3) || is(value, length, "\x02\x02\x91\x0e\xf0", 5) ||
           is(value, length, "\x02\x0e\xf0\x02\x91", 5);
}

/* Returns NULL, or a description of the expected value. */
static const char *wanted(uint8_t epc, const uint8_t *value, size_t length, uint64_t seed) {
    switch (epc) {
    case 0x80: return is(value, length, "\x30", 1) ? NULL : "30";
    case 0x82: return length == VERSION_BYTES ? NULL : "four bytes";
    case 0x83: return is_identification(value, length, seed) ? NULL : "FE, three bytes and the thirteen bytes derived from the seed";
    case 0x8a: return length == MANUFACTURER_BYTES ? NULL : "three bytes";
    case 0x9d:
    case 0x9e: return is_map(value, length) ? NULL : "a property map";
    case 0x9f: return is_map(value, length) && has_readable(value) ? NULL : "a map with 80 82 83 8A 9D 9E 9F";
    case 0xd3: return is(value, length, "\0\0\1", 3) ? NULL : "00 00 01";
    case 0xd4: return is(value, length, "\0\2", 2) ? NULL : "00 02";
    case 0xd6: return is(value, length, "\x01\x02\x91\x01", 4) ? NULL : "01 02 91 01";
    case 0xd7: return is_class_list(value, length) ? NULL : "01 02 91";
    default: return NULL;
    }
}

const char *nd_value_check(const struct nd_property *property, const uint8_t *value, size_t length, uint64_t seed, char *why,
                           size_t room) {
    const char *should = wanted(property->epc, value, length, seed);
    if (should == NULL)
        return NULL;
    char hex[3 * ND_EDT_BYTES_MAX + 1] = "";
    for (size_t i = 0; i < length && i < ND_EDT_BYTES_MAX; i++)
        snprintf(hex + 3 * i, 4, "%02X ", value[i]);
    snprintf(why, room, "%s %02X is [%.*s], expected [%s]", property->eoj[0] == 0x02 ? "lighting" : "node profile", property->epc,
             (int)(length > 0 ? 3 * length - 1 : 0), hex, should);
    return why;
}
