#include "matroska.h"

#include <endian.h>
#include <string.h>

enum {
    EBML = 0x1A45DFA3,
    DOC_TYPE = 0x4282,
    DOC_TYPE_VERSION = 0x4287,
    DOC_TYPE_READ_VERSION = 0x4285,
    SEGMENT = 0x18538067,
    INFO = 0x1549A966,
    TIMESTAMP_SCALE = 0x2AD7B1,
    TRACKS = 0x1654AE6B,
    TRACK_ENTRY = 0xAE,
    TRACK_NUMBER = 0xD7,
    TRACK_UID = 0x73C5,
    TRACK_TYPE = 0x83,
    DEFAULT_DURATION = 0x23E383, /* in ns, independent of the scale */
    CODEC_ID = 0x86,
    VIDEO = 0xE0,
    PIXEL_WIDTH = 0xB0,
    PIXEL_HEIGHT = 0xBA,
    CLUSTER = 0x1F43B675,
    TIMESTAMP = 0xE7,
    SIMPLE_BLOCK = 0xA3,

    VIDEO_TRACK = 1,
    SCALE_NS = 1000,
    LENGTH_BYTES = 8, /* of every element */
};

#define UNKNOWN_LENGTH UINT64_C(0xFFFFFFFFFFFFFF)

struct writer {
    uint8_t *at;
};

static void put_big_endian(struct writer *writer, uint64_t value, unsigned count) {
    while (count-- > 0)
        *writer->at++ = (uint8_t)(value >> 8 * count);
}

static void put_element(struct writer *writer, uint32_t id, uint64_t length) {
    put_big_endian(writer, id, id > 0xFFFFFF ? 4 : id > 0xFFFF ? 3 : id > 0xFF ? 2 : 1);
    put_big_endian(writer, length | UINT64_C(1) << 56, LENGTH_BYTES);
}

static void put_number(struct writer *writer, uint32_t id, uint64_t value) {
    put_element(writer, id, sizeof value);
    put_big_endian(writer, value, sizeof value);
}

static void put_text(struct writer *writer, uint32_t id, const char *text) {
    put_element(writer, id, strlen(text));
    writer->at = (uint8_t *)stpcpy((char *)writer->at, text);
}

/* Opens an element that contains others. Its length is written when it is closed. */
static uint8_t *open_element(struct writer *writer, uint32_t id) {
    put_element(writer, id, 0);
    return writer->at;
}

static void close_element(struct writer *writer, uint8_t *inside) {
    struct writer before = {inside - LENGTH_BYTES};
    put_big_endian(&before, (uint64_t)(writer->at - inside) | UINT64_C(1) << 56, LENGTH_BYTES);
}

size_t matroska_begin(uint8_t bytes[MATROSKA_BYTES_MAX], uint32_t width, uint32_t height, uint32_t fps) {
    struct writer writer = {bytes};
    uint8_t *ebml = open_element(&writer, EBML);
    put_text(&writer, DOC_TYPE, "matroska");
    put_number(&writer, DOC_TYPE_VERSION, 2);
    put_number(&writer, DOC_TYPE_READ_VERSION, 2);
    close_element(&writer, ebml);
    put_element(&writer, SEGMENT, UNKNOWN_LENGTH);
    uint8_t *info = open_element(&writer, INFO);
    put_number(&writer, TIMESTAMP_SCALE, SCALE_NS);
    close_element(&writer, info);
    uint8_t *tracks = open_element(&writer, TRACKS), *track = open_element(&writer, TRACK_ENTRY);
    put_number(&writer, TRACK_NUMBER, 1);
    put_number(&writer, TRACK_UID, 1);
    put_number(&writer, TRACK_TYPE, VIDEO_TRACK);
    put_number(&writer, DEFAULT_DURATION, 1000000000 / fps);
    put_text(&writer, CODEC_ID, "V_MJPEG");
    uint8_t *video = open_element(&writer, VIDEO);
    put_number(&writer, PIXEL_WIDTH, width);
    put_number(&writer, PIXEL_HEIGHT, height);
    close_element(&writer, video);
    close_element(&writer, track);
    close_element(&writer, tracks);
    return (size_t)(writer.at - bytes);
}

size_t matroska_picture(uint8_t bytes[MATROSKA_BYTES_MAX], uint64_t at_ns, size_t picture_length) {
    /* Track 1, the time of the cluster, a key frame. */
    static const uint8_t block[] = {0x81, 0x00, 0x00, 0x80};
    struct writer writer = {bytes};
    uint8_t *cluster = open_element(&writer, CLUSTER);
    put_number(&writer, TIMESTAMP, at_ns / SCALE_NS);
    put_element(&writer, SIMPLE_BLOCK, sizeof block + picture_length);
    writer.at = mempcpy(writer.at, block, sizeof block);
    struct writer before = {cluster - LENGTH_BYTES};
    put_big_endian(&before, ((uint64_t)(writer.at - cluster) + picture_length) | UINT64_C(1) << 56, LENGTH_BYTES);
    return (size_t)(writer.at - bytes);
}
