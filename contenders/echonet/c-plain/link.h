/* The socket of a node, at port 3610 and in the group. */
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

/* Opens the socket on the interface of `local`. `tick_ns` is the timeout of a receive; 0: none. */
void link_open(struct link *link, const char *local, uint64_t tick_ns);
/* Parses an address, and returns it with port 3610. */
struct sockaddr_in link_address(const char *text);
/* Receives a datagram. Returns its length, or -1 on a timeout. */
ssize_t link_receive(const struct link *link, uint8_t *datagram, size_t room, struct sockaddr_in *from);
void link_send(const struct link *link, const uint8_t *datagram, size_t length, const struct sockaddr_in *to);

#endif
