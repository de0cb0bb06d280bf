/* The parts of a baseline JPEG file that affect decoding (ITU-T T.81, Annex B), and its canonical form. */
#include "mjpeg.h"

#include <stdlib.h>
#include <string.h>

enum { SOF0 = 0xc0, SOF1 = 0xc1, DHT = 0xc4, SOF15 = 0xcf, SOS = 0xda, DQT = 0xdb, DRI = 0xdd, COUNTS = 16 };

/* ITU-T T.81, K.3. */
static const uint8_t default_dc0[] = {
    0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
};
static const uint8_t default_ac0[] = {
    0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125, 1, 2, 3, 0, 4, 17, 5, 18, 33, 49, 65, 6,
    19, 81, 97, 7, 34, 113, 20, 50, 129, 145, 161, 8, 35, 66, 177, 193, 21, 82, 209, 240, 36, 51, 98, 114, 130, 9, 10, 22,
    23, 24, 25, 26, 37, 38, 39, 40, 41, 42, 52, 53, 54, 55, 56, 57, 58, 67, 68, 69, 70, 71, 72, 73, 74, 83, 84, 85,
    86, 87, 88, 89, 90, 99, 100, 101, 102, 103, 104, 105, 106, 115, 116, 117, 118, 119, 120, 121, 122, 131, 132, 133, 134, 135, 136, 137,
    138, 146, 147, 148, 149, 150, 151, 152, 153, 154, 162, 163, 164, 165, 166, 167, 168, 169, 170, 178, 179, 180, 181, 182, 183, 184, 185, 186,
    194, 195, 196, 197, 198, 199, 200, 201, 202, 210, 211, 212, 213, 214, 215, 216, 217, 218, 225, 226, 227, 228, 229, 230, 231, 232, 233, 234,
    241, 242, 243, 244, 245, 246, 247, 248, 249, 250,
};
static const uint8_t default_dc1[] = {
    0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
};
static const uint8_t default_ac1[] = {
    0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119, 0, 1, 2, 3, 17, 4, 5, 33, 49, 6, 18, 65,
    81, 7, 97, 113, 19, 34, 50, 129, 8, 20, 66, 145, 161, 177, 193, 9, 35, 51, 82, 240, 21, 98, 114, 209, 10, 22, 36, 52,
    225, 37, 241, 23, 24, 25, 26, 38, 39, 40, 41, 42, 53, 54, 55, 56, 57, 58, 67, 68, 69, 70, 71, 72, 73, 74, 83, 84,
    85, 86, 87, 88, 89, 90, 99, 100, 101, 102, 103, 104, 105, 106, 115, 116, 117, 118, 119, 120, 121, 122, 130, 131, 132, 133, 134, 135,
    136, 137, 138, 146, 147, 148, 149, 150, 151, 152, 153, 154, 162, 163, 164, 165, 166, 167, 168, 169, 170, 178, 179, 180, 181, 182, 183, 184,
    185, 186, 194, 195, 196, 197, 198, 199, 200, 201, 202, 210, 211, 212, 213, 214, 215, 216, 217, 218, 226, 227, 228, 229, 230, 231, 232, 233,
    234, 242, 243, 244, 245, 246, 247, 248, 249, 250,
};
static const struct nd_span defaults[ND_TABLES] = {
    {default_dc0, sizeof default_dc0}, {default_ac0, sizeof default_ac0},
    {default_dc1, sizeof default_dc1}, {default_ac1, sizeof default_ac1},
};

static uint16_t u16(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static bool read_quantisation(struct nd_picture *picture, const uint8_t *at, size_t left) {
    while (left > 0) {
        const bool wide = at[0] >> 4 == 1;
        const size_t id = at[0] & 0x0f, length = 1 + (wide ? 2 : 1) * ND_TABLE_VALUES;
        if (id >= ND_TABLES || left < length)
            return false;
        for (size_t i = 0; i < ND_TABLE_VALUES; i++)
            picture->quantisation[id][i] = wide ? u16(at + 1 + 2 * i) : at[1 + i];
        picture->has_table[id] = true;
        at += length;
        left -= length;
    }
    return true;
}

static bool read_huffman(struct nd_picture *picture, const uint8_t *at, size_t left) {
    while (left > 0) {
        const size_t slot = (size_t)(at[0] & 0x0f) * 2 + (at[0] >> 4);
        size_t length = COUNTS;
        if (slot >= ND_TABLES || left < 1 + COUNTS)
            return false;
        for (size_t i = 0; i < COUNTS; i++)
            length += at[1 + i];
        if (left < 1 + length)
            return false;
        picture->huffman[slot] = (struct nd_span){at + 1, length};
        at += 1 + length;
        left -= 1 + length;
    }
    return true;
}

static bool read_frame(struct nd_picture *picture, const uint8_t *at, size_t length) {
    if (length < 6 || at[0] != 8 || at[5] < 1 || at[5] > ND_COMPONENTS_MAX || length != 6 + 3 * (size_t)at[5])
        return false;
    picture->height = u16(at + 1);
    picture->width = u16(at + 3);
    picture->count = at[5];
    for (size_t i = 0; i < picture->count; i++) {
        picture->sampling[i] = at[7 + 3 * i];
        picture->table[i] = at[8 + 3 * i];
    }
    return true;
}

/* Whether the scan has all components, the first with the tables 0 and the others with the tables 1, as RFC 2435 requires. */
static bool is_usual_scan(const struct nd_picture *picture, const uint8_t *at, size_t length) {
    if (picture->count == 0 || length != 4 + 2 * (size_t)picture->count || at[0] != picture->count)
        return false;
    for (size_t i = 0; i < picture->count; i++)
        if (at[2 + 2 * i] != (i == 0 ? 0x00 : 0x11))
            return false;
    return true;
}

const char *nd_picture_parse(struct nd_picture *picture, const uint8_t *jpeg, size_t length) {
    size_t at = 2;
    memset(picture, 0, sizeof *picture);
    if (length < 2 || jpeg[0] != 0xff || jpeg[1] != 0xd8)
        return "no SOI at the beginning";
    for (;;) {
        /* Any number of fill bytes may precede a marker. */
        while (at + 2 <= length && jpeg[at] == 0xff && jpeg[at + 1] == 0xff)
            at++;
        if (at + 4 > length || jpeg[at] != 0xff)
            return "missing marker";
        const uint8_t marker = jpeg[at + 1], *segment = jpeg + at + 4;
        const size_t bytes = u16(jpeg + at + 2);
        if (bytes < 2 || at + 2 + bytes > length)
            return "truncated segment";
        const size_t left = bytes - 2;
        bool good = true;
        at += 2 + bytes;
        if (marker == DQT)
            good = read_quantisation(picture, segment, left);
        else if (marker == DHT)
            good = read_huffman(picture, segment, left);
        else if (marker == SOF0 || marker == SOF1)
            good = read_frame(picture, segment, left);
        else if (marker > SOF1 && marker <= SOF15)
            return "the coding process is not sequential with Huffman codes";
        else if (marker == DRI && (good = left >= 2))
            picture->restart = u16(segment);
        else if (marker == SOS) {
            picture->scan_at = at;
            return is_usual_scan(picture, segment, left) ? NULL : "unsupported scan header";
        }
        if (!good)
            return "malformed segment";
    }
}

size_t nd_picture_scan_end(const struct nd_picture *picture, const uint8_t *jpeg, size_t length) {
    for (size_t from = picture->scan_at; from < length;) {
        const uint8_t *found = memchr(jpeg + from, 0xff, length - from);
        if (found == NULL)
            return length;
        const size_t at = (size_t)(found - jpeg);
        size_t behind = at + 1;
        while (behind < length && jpeg[behind] == 0xff)
            behind++;
        if (behind == length || (jpeg[behind] != 0x00 && (jpeg[behind] < 0xd0 || jpeg[behind] > 0xd7)))
            return at;
        from = behind + 1;
    }
    return length;
}

uint8_t *nd_picture_canonical(const struct nd_picture *picture, const uint8_t *jpeg, size_t length, size_t *form_length) {
    const size_t scan = nd_picture_scan_end(picture, jpeg, length) - picture->scan_at;
    uint8_t *form = malloc(7 + (1 + 2 * ND_TABLE_VALUES) * ND_COMPONENTS_MAX + ND_TABLES * (COUNTS + COUNTS * 255) + scan), *to = form;
    if (form == NULL)
        nd_failed("out of memory (picture)");
#define PUT16(value) (*to++ = (uint8_t)((value) >> 8), *to++ = (uint8_t)(value))
    PUT16(picture->width);
    PUT16(picture->height);
    *to++ = picture->count;
    for (size_t i = 0; i < picture->count; i++) {
        const uint8_t table = picture->table[i];
        if (table >= ND_TABLES || !picture->has_table[table]) {
            free(form);
            return NULL;
        }
        *to++ = picture->sampling[i];
        for (size_t j = 0; j < ND_TABLE_VALUES; j++)
            PUT16(picture->quantisation[table][j]);
    }
    PUT16(picture->restart);
#undef PUT16
    for (size_t i = 0; i < ND_TABLES; i++) {
        const struct nd_span *table = picture->huffman[i].bytes ? &picture->huffman[i] : &defaults[i];
        to = mempcpy(to, table->bytes, table->length);
    }
    to = mempcpy(to, jpeg + picture->scan_at, scan);
    *form_length = (size_t)(to - form);
    return form;
}
