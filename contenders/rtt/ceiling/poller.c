#include "poller.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

enum { EVENTS_MAX = 64 };

void poller_init(struct poller *poller, uint32_t most) {
    poller->count = 0;
    poller->asks = most > TRIED_MAX;
    if (poller->asks && (poller->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        nd_failed("epoll_create1: %s", strerror(errno));
}

void poller_add(struct poller *poller, int fd) {
    uint32_t key = poller->count++;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = key};
    poller->keys[key] = key;
    if (poller->asks && epoll_ctl(poller->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        nd_failed("epoll_ctl: %s", strerror(errno));
}

uint32_t poller_ask(struct poller *poller) {
    struct epoll_event events[EVENTS_MAX];
    if (!poller->asks)
        return poller->count;
    int ready = epoll_wait(poller->epoll, events, EVENTS_MAX, 0);
    if (ready < 0 && errno != EINTR)
        nd_failed("epoll_wait: %s", strerror(errno));
    for (int i = 0; i < ready; i++)
        poller->keys[i] = events[i].data.u32;
    return ready < 0 ? 0 : (uint32_t)ready;
}
