/* A device: objects with their properties and their answers, without sockets. */
#ifndef DEVICE_H
#define DEVICE_H

#include "frame.h"

enum {
    OBJECTS_MAX = 4,
    CODES = 128, /* EPC 80 to FF */
    VALUE_BYTES_MAX = 32,
};

enum access { READABLE = 1, WRITABLE = 2, ANNOUNCED = 4 };

struct slot {
    uint8_t access; /* 0 if the property is absent */
    uint8_t length;
    uint8_t value[VALUE_BYTES_MAX];
};

struct object {
    uint8_t eoj[EOJ_BYTES];
    struct slot slots[CODES];
};

struct device {
    struct object objects[OBJECTS_MAX];
    size_t count;
};

enum destination { NOWHERE, TO_SENDER, TO_GROUP };

/* A node profile and a mono-functional lighting; `identification` is the value of 83, of 17 bytes. */
void device_init(struct device *device, const uint8_t *identification);
/* Writes the answer of object `number` to a request, and returns its destination. */
enum destination device_answer(struct device *device, size_t number, const struct frame *request, struct writer *answer);
/* Writes the announcement of D5 of the node profile, which is sent at startup. */
void device_announce(const struct device *device, struct writer *announcement);

#endif
