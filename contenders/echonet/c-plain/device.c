#include "device.h"

#include <string.h>

enum {
    LIST_CODES_MAX = 15, /* of a property map in its shorter form */
    BITMAP_BYTES = 17,
    IDENTIFICATION_BYTES = 17,
    INSTANCE_LIST = 0xd5,
};

static const uint8_t NODE_PROFILE[] = {0x0e, 0xf0, 0x01};
static const uint8_t LIGHTING[] = {0x02, 0x91, 0x01};

static struct slot *slot_of(struct object *object, uint8_t epc) {
    return &object->slots[epc - EPC_MIN];
}

static void add(struct object *object, uint8_t epc, uint8_t access, const void *value, size_t length) {
    struct slot *slot = slot_of(object, epc);
    slot->access = access;
    slot->length = (uint8_t)length;
    memcpy(slot->value, value, length);
}

static struct object *add_object(struct device *device, const uint8_t *eoj) {
    struct object *object = &device->objects[device->count++];
    memset(object, 0, sizeof *object);
    memcpy(object->eoj, eoj, EOJ_BYTES);
    return object;
}

/* Writes a property map of the codes with this access, as a list or a bitmap. */
static void fill_map(struct object *object, uint8_t map_epc, enum access access) {
    uint8_t list[1 + LIST_CODES_MAX] = {0}, bitmap[BITMAP_BYTES] = {0}, count = 0;
    for (unsigned code = 0; code < CODES; code++) {
        if ((object->slots[code].access & access) == 0)
            continue;
        if (count < LIST_CODES_MAX)
            list[1 + count] = (uint8_t)(EPC_MIN + code);
        bitmap[1 + code % 16] |= (uint8_t)(1 << code / 16);
        count++;
    }
    list[0] = bitmap[0] = count;
    if (count <= LIST_CODES_MAX)
        add(object, map_epc, READABLE, list, 1 + (size_t)count);
    else
        add(object, map_epc, READABLE, bitmap, sizeof bitmap);
}

/* The maps are readable, so all of them exist before the map of readable properties is built. */
static void fill_maps(struct object *object) {
    for (uint8_t epc = 0x9d; epc <= 0x9f; epc++)
        add(object, epc, READABLE, "", 0);
    fill_map(object, 0x9d, ANNOUNCED);
    fill_map(object, 0x9e, WRITABLE);
    fill_map(object, 0x9f, READABLE);
}

void device_init(struct device *device, const uint8_t *identification) {
    device->count = 0;
    struct object *profile = add_object(device, NODE_PROFILE);
    add(profile, 0x80, READABLE | ANNOUNCED, "\x30", 1);
    add(profile, 0x82, READABLE, "\x01\x0d\x01\x00", 4); /* 1.13, format 1 */
    add(profile, 0x83, READABLE, identification, IDENTIFICATION_BYTES);
    add(profile, 0x8a, READABLE, "\x00\x00\x0b", 3);
    add(profile, 0xd3, READABLE, "\x00\x00\x01", 3);
    add(profile, 0xd4, READABLE, "\x00\x02", 2);
    add(profile, INSTANCE_LIST, ANNOUNCED, "\x01\x02\x91\x01", 4);
    add(profile, 0xd6, READABLE, "\x01\x02\x91\x01", 4);
    add(profile, 0xd7, READABLE, "\x01\x02\x91", 3);
    fill_maps(profile);
    struct object *lighting = add_object(device, LIGHTING);
    add(lighting, 0x80, READABLE | WRITABLE | ANNOUNCED, "\x30", 1);
    add(lighting, 0x81, READABLE | WRITABLE | ANNOUNCED, "\x00", 1);
    add(lighting, 0x82, READABLE, "\x00\x00\x52\x00", 4); /* appendix, release R */
    add(lighting, 0x88, READABLE | ANNOUNCED, "\x42", 1);
    add(lighting, 0x8a, READABLE, "\x00\x00\x0b", 3);
    add(lighting, 0xb6, READABLE | WRITABLE, "\x41", 1);
    fill_maps(lighting);
}

/* Writes the values. The answer has PDC 0 for accepted values, and the original value for refused ones. Returns whether all were accepted. */
static bool write_all(struct object *object, struct list list, struct writer *answer) {
    bool all = true;
    const uint8_t *at = list.first;
    for (uint8_t i = 0; i < list.count; i++) {
        const struct property property = list_next(&at);
        struct slot *slot = slot_of(object, property.epc);
        if ((slot->access & WRITABLE) != 0 && property.pdc == slot->length) {
            memcpy(slot->value, property.edt, property.pdc);
            writer_put(answer, property.epc, NULL, 0);
        } else {
            all = false;
            writer_put(answer, property.epc, property.edt, property.pdc);
        }
    }
    return all;
}

/* Reads the values. The answer has PDC 0 for unreadable values and for those that do not fit. Returns whether there were none of these. */
static bool read_all(struct object *object, struct list list, uint8_t access, struct writer *answer) {
    bool all = true;
    const uint8_t *at = list.first;
    for (uint8_t i = 0; i < list.count; i++) {
        const struct property property = list_next(&at);
        const struct slot *slot = slot_of(object, property.epc);
        const size_t others = (size_t)(list.count - i - 1);
        if ((slot->access & access) != 0 && writer_has_room(answer, slot->length, others)) {
            writer_put(answer, property.epc, slot->value, slot->length);
        } else {
            all = false;
            writer_put(answer, property.epc, NULL, 0);
        }
    }
    return all;
}

static void acknowledge_all(struct list list, struct writer *answer) {
    const uint8_t *at = list.first;
    for (uint8_t i = 0; i < list.count; i++)
        writer_put(answer, list_next(&at).epc, NULL, 0);
}

/* Whether a request addresses this object. Instance 0 addresses all instances of a class. */
static bool is_meant(const struct object *object, const uint8_t *deoj) {
    return object->eoj[0] == deoj[0] && object->eoj[1] == deoj[1] && (deoj[2] == 0 || object->eoj[2] == deoj[2]);
}

enum destination device_answer(struct device *device, size_t number, const struct frame *request, struct writer *answer) {
    struct object *object = &device->objects[number];
    bool all;
    if (!is_meant(object, request->deoj))
        return NOWHERE;
    writer_begin(answer, request->tid, object->eoj, request->seoj, GET_RES);
    switch (request->esv) {
    case GET:
        all = read_all(object, request->properties, READABLE, answer);
        writer_set_esv(answer, all ? GET_RES : GET_SNA);
        return TO_SENDER;
    case INF_REQ:
        all = read_all(object, request->properties, READABLE | ANNOUNCED, answer);
        writer_set_esv(answer, all ? INF : INF_SNA);
        return all ? TO_GROUP : TO_SENDER;
    case SETI:
        all = write_all(object, request->properties, answer);
        writer_set_esv(answer, SETI_SNA);
        return all ? NOWHERE : TO_SENDER;
    case SETC:
        all = write_all(object, request->properties, answer);
        writer_set_esv(answer, all ? SET_RES : SETC_SNA);
        return TO_SENDER;
    case SETGET:
        all = write_all(object, request->properties, answer);
        writer_list(answer);
        all = read_all(object, request->get, READABLE, answer) && all;
        writer_set_esv(answer, all ? SETGET_RES : SETGET_SNA);
        return TO_SENDER;
    case INFC:
        acknowledge_all(request->properties, answer);
        writer_set_esv(answer, INFC_RES);
        return TO_SENDER;
    default: /* an answer, or an announcement of another node */
        return NOWHERE;
    }
}

void device_announce(const struct device *device, struct writer *announcement) {
    const struct object *profile = &device->objects[0];
    const struct slot *slot = &profile->slots[INSTANCE_LIST - EPC_MIN];
    writer_begin(announcement, 1, profile->eoj, profile->eoj, INF);
    writer_put(announcement, INSTANCE_LIST, slot->value, slot->length);
}
