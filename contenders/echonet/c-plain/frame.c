#include "frame.h"

#include <string.h>

enum { EHD1 = 0x10, EHD2_FORMAT_1 = 0x81, AT_TID = 2, AT_SEOJ = 4, AT_DEOJ = 7, AT_ESV = 10, AT_OPC = 11 };

static bool is_known(uint8_t esv) {
    switch (esv) {
    case SETI_SNA: case SETC_SNA: case GET_SNA: case INF_SNA: case SETGET_SNA:
    case SETI: case SETC: case GET: case INF_REQ: case SETGET:
    case SET_RES: case GET_RES: case INF: case INFC: case INFC_RES: case SETGET_RES:
        return true;
    default:
        return false;
    }
}

static bool has_two_lists(uint8_t esv) {
    return esv == SETGET || esv == SETGET_RES || esv == SETGET_SNA;
}

/* Parses a list from `*at` up to `end`, and advances `*at`. `none_is_fine`: the list may be empty. */
static bool take_list(struct list *list, const uint8_t **at, const uint8_t *end, bool none_is_fine) {
    const uint8_t *next = *at;
    if (next == end || (*next == 0 && !none_is_fine))
        return false;
    list->count = *next++;
    list->first = next;
    for (uint8_t i = 0; i < list->count; i++) {
        if (end - next < PROPERTY_BYTES || next[0] < EPC_MIN || end - next - PROPERTY_BYTES < next[1])
            return false;
        next += PROPERTY_BYTES + next[1];
    }
    *at = next;
    return true;
}

bool frame_parse(struct frame *frame, const uint8_t *datagram, size_t length) {
    if (length < HEADER_BYTES + PROPERTY_BYTES || datagram[0] != EHD1 || datagram[1] != EHD2_FORMAT_1)
        return false;
    const uint8_t *end = datagram + length, *at = datagram + AT_OPC;
    frame->tid = (uint16_t)(datagram[AT_TID] << 8 | datagram[AT_TID + 1]);
    frame->seoj = datagram + AT_SEOJ;
    frame->deoj = datagram + AT_DEOJ;
    frame->esv = datagram[AT_ESV];
    frame->get = (struct list){0};
    if (!is_known(frame->esv))
        return false;
    const bool two = has_two_lists(frame->esv);
    return take_list(&frame->properties, &at, end, two) && (!two || take_list(&frame->get, &at, end, true));
}

struct property list_next(const uint8_t **at) {
    const struct property property = {(*at)[0], (*at)[1], *at + PROPERTY_BYTES};
    *at += PROPERTY_BYTES + property.pdc;
    return property;
}

void writer_begin(struct writer *writer, uint16_t tid, const uint8_t *seoj, const uint8_t *deoj, enum esv esv) {
    uint8_t *bytes = writer->bytes;
    bytes[0] = EHD1;
    bytes[1] = EHD2_FORMAT_1;
    bytes[AT_TID] = (uint8_t)(tid >> 8);
    bytes[AT_TID + 1] = (uint8_t)tid;
    memcpy(bytes + AT_SEOJ, seoj, EOJ_BYTES);
    memcpy(bytes + AT_DEOJ, deoj, EOJ_BYTES);
    bytes[AT_ESV] = esv;
    writer->length = AT_OPC;
    writer_list(writer);
}

void writer_list(struct writer *writer) {
    writer->count_at = writer->length;
    writer->bytes[writer->length++] = 0;
}

/* One more byte is for the count of a second list. */
bool writer_has_room(const struct writer *writer, size_t pdc, size_t others) {
    return writer->length + PROPERTY_BYTES + pdc + others * PROPERTY_BYTES + 1 <= sizeof writer->bytes;
}

void writer_put(struct writer *writer, uint8_t epc, const uint8_t *edt, uint8_t pdc) {
    uint8_t *to = writer->bytes + writer->length;
    to[0] = epc;
    to[1] = pdc;
    if (pdc > 0)
        memcpy(to + PROPERTY_BYTES, edt, pdc);
    writer->length += PROPERTY_BYTES + pdc;
    writer->bytes[writer->count_at]++;
}

void writer_set_esv(struct writer *writer, enum esv esv) {
    writer->bytes[AT_ESV] = esv;
}
