/* Frames of ECHONET Lite, format 1: read in place, written into a buffer. */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DATAGRAM_BYTES_MAX = 1500,
    EOJ_BYTES = 3,
    HEADER_BYTES = 12,   /* up to and including OPC */
    PROPERTY_BYTES = 2,  /* EPC and PDC */
    EPC_MIN = 0x80,
};

enum esv {
    SETI_SNA = 0x50, SETC_SNA = 0x51, GET_SNA = 0x52, INF_SNA = 0x53, SETGET_SNA = 0x5e,
    SETI = 0x60, SETC = 0x61, GET = 0x62, INF_REQ = 0x63, SETGET = 0x6e,
    SET_RES = 0x71, GET_RES = 0x72, INF = 0x73, INFC = 0x74, INFC_RES = 0x7a, SETGET_RES = 0x7e,
};

struct property {
    uint8_t epc, pdc;
    const uint8_t *edt;
};

/* A validated list of properties in a datagram. */
struct list {
    uint8_t count;
    const uint8_t *first;
};

struct frame {
    uint16_t tid;
    uint8_t esv;
    const uint8_t *seoj, *deoj;
    struct list properties; /* in a SetGet, the properties to set */
    struct list get;        /* in a SetGet only */
};

/* Parses and validates a whole datagram. Bytes after the last property are ignored. */
bool frame_parse(struct frame *frame, const uint8_t *datagram, size_t length);

/* Returns the property at `*at` and advances to the next one. */
struct property list_next(const uint8_t **at);

struct writer {
    uint8_t bytes[DATAGRAM_BYTES_MAX];
    size_t length;
    size_t count_at; /* of the current list */
};

void writer_begin(struct writer *writer, uint16_t tid, const uint8_t *seoj, const uint8_t *deoj, enum esv esv);
/* Starts the second list of a SetGet. */
void writer_list(struct writer *writer);
/* Whether there is space for a value and `others` further properties without a value. */
bool writer_has_room(const struct writer *writer, size_t pdc, size_t others);
void writer_put(struct writer *writer, uint8_t epc, const uint8_t *edt, uint8_t pdc);
void writer_set_esv(struct writer *writer, enum esv esv);

#endif
