/* The one socket of a node: port 3610, in the group. */
#ifndef LINK_H
#define LINK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct link {
    int fd;
    struct sockaddr_in group;
};

/* On the interface of `local`. `look_ns` is the longest that a receive waits; 0: for ever. */
void link_open(struct link *link, const char *local, uint64_t look_ns);
/* The address of a text, at the port that everybody receives at. */
struct sockaddr_in link_address(const char *text);
/* The length of a datagram, or -1: nothing came in time. */
ssize_t link_receive(const struct link *link, uint8_t *datagram, size_t room, struct sockaddr_in *from);
void link_send(const struct link *link, const uint8_t *datagram, size_t length, const struct sockaddr_in *to);

#endif
