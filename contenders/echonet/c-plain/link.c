#include "link.h"

#include "echonet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

static void option(int fd, int level, int name, const void *value, socklen_t length, const char *what) {
    if (setsockopt(fd, level, name, value, length) != 0)
        nd_failed("%s: %s", what, strerror(errno));
}

struct sockaddr_in link_address(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(ND_ECHONET_PORT)};
    if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
        nd_unsupported("the address %.64s is not IPv4", text);
    return address;
}

void link_open(struct link *link, const char *local, uint64_t tick_ns) {
    const struct sockaddr_in mine = link_address(local), any = link_address("0.0.0.0");
    const int yes = 1, no = 0;
    link->group = link_address(ND_ECHONET_GROUP);
    link->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (link->fd < 0)
        nd_failed("socket: %s", strerror(errno));
    option(link->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes, "SO_REUSEADDR");
    /* Otherwise, the socket receives every group that any process of this host has joined. */
    option(link->fd, IPPROTO_IP, IP_MULTICAST_ALL, &no, sizeof no, "IP_MULTICAST_ALL");
    if (bind(link->fd, (const struct sockaddr *)&any, sizeof any) != 0)
        nd_failed("bind: %s", strerror(errno));
    const struct ip_mreqn membership = {.imr_multiaddr = link->group.sin_addr, .imr_address = mine.sin_addr};
    option(link->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership, "IP_ADD_MEMBERSHIP");
    option(link->fd, IPPROTO_IP, IP_MULTICAST_IF, &membership, sizeof membership, "IP_MULTICAST_IF");
    option(link->fd, IPPROTO_IP, IP_MULTICAST_LOOP, &no, sizeof no, "IP_MULTICAST_LOOP");
    if (tick_ns > 0) {
        const struct timeval wait = {.tv_sec = (time_t)(tick_ns / ND_NS_PER_S),
                                     .tv_usec = (suseconds_t)(tick_ns % ND_NS_PER_S / 1000)};
        option(link->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait, "SO_RCVTIMEO");
    }
}

ssize_t link_receive(const struct link *link, uint8_t *datagram, size_t room, struct sockaddr_in *from) {
    socklen_t length = sizeof *from;
    const ssize_t got = recvfrom(link->fd, datagram, room, 0, (struct sockaddr *)from, &length);
    if (got < 0 && errno != EAGAIN && errno != EINTR)
        nd_failed("recvfrom: %s", strerror(errno));
    return got;
}

void link_send(const struct link *link, const uint8_t *datagram, size_t length, const struct sockaddr_in *to) {
    while (sendto(link->fd, datagram, length, 0, (const struct sockaddr *)to, sizeof *to) < 0)
        if (errno != EINTR)
            nd_failed("sendto: %s", strerror(errno));
}
