#ifndef POLLER_H
#define POLLER_H

#include "rtt.h"

/* Which sockets to try next. Of a few it is quicker to try all; of many, one call that does not wait says which of them
 * have something. */
enum { TRIED_MAX = 8 };

struct poller {
    int epoll; /* valid if `asks` */
    bool asks;
    uint32_t count;
    uint32_t keys[ND_LANES_MAX];
};

/* `most`: how many sockets will be added. */
void poller_init(struct poller *poller, uint32_t most);
/* The sockets' keys are 0, 1, .. in the order in which they are added. */
void poller_add(struct poller *poller, int fd);
/* The keys of the sockets to try are poller->keys[0 .. result - 1]. */
uint32_t poller_ask(struct poller *poller);

#endif
