/* The upper bound of the echonet workload: the minimal implementation of the contract. The datagrams of the twelve requests and answers are
 * prebuilt; only the TID is written. What remains are system calls and the SDK's counters. */
#include "echonet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
    HEADER_BYTES = 12,
    REQUEST_BYTES = HEADER_BYTES + 2, /* one property without a value */
    AT_TID = 2,
    AT_DEOJ = 7,
    AT_ESV = 10,
    AT_EPC = 12,
    AT_PDC = 13,
    AT_EDT = 14,
    FRAME_BYTES_MAX = 64,
    GET = 0x62,
    GET_RES = 0x72,
    INSTANCE_LIST = 9, /* the read of D6 */
};

struct frame {
    size_t length;
    uint8_t bytes[FRAME_BYTES_MAX];
};

static const uint8_t CONTROLLER[] = {0x05, 0xff, 0x01};

static struct sockaddr_in address(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(ND_ECHONET_PORT)};
    if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
        nd_unsupported("the address %.64s is not IPv4", text);
    return address;
}

static void must(int result, const char *what) {
    if (result != 0)
        nd_failed("%s: %s", what, strerror(errno));
}

static int open_socket(const char *at) {
    const struct sockaddr_in mine = address(at);
    const int yes = 1;
    const struct timeval wait = {.tv_usec = (suseconds_t)(ND_TICK_NS / 1000)};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(fd < 0, "socket");
    must(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), "SO_REUSEADDR");
    must(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), "SO_RCVTIMEO");
    must(bind(fd, (const struct sockaddr *)&mine, sizeof mine), "bind");
    return fd;
}

/* A connected socket: the kernel looks up the route once. */
static int open_unicast(const struct nd_setup *setup) {
    const struct sockaddr_in peer = address(setup->peer);
    const int fd = open_socket(setup->local);
    must(connect(fd, (const struct sockaddr *)&peer, sizeof peer), "connect");
    return fd;
}

static int open_group(const struct nd_setup *setup) {
    const struct ip_mreqn membership = {.imr_multiaddr = address(ND_ECHONET_GROUP).sin_addr,
                                        .imr_address = address(setup->local).sin_addr};
    const int fd = open_socket("0.0.0.0"), no = 0;
    must(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership), "IP_ADD_MEMBERSHIP");
    must(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &membership, sizeof membership), "IP_MULTICAST_IF");
    must(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &no, sizeof no), "IP_MULTICAST_LOOP");
    return fd;
}

static struct frame frame(const uint8_t *seoj, const uint8_t *deoj, uint8_t esv, uint8_t epc, const void *edt, size_t pdc) {
    struct frame frame = {.length = AT_EDT + pdc, .bytes = {0x10, 0x81}};
    memcpy(frame.bytes + 4, seoj, 3);
    memcpy(frame.bytes + AT_DEOJ, deoj, 3);
    frame.bytes[AT_ESV] = esv;
    frame.bytes[AT_ESV + 1] = 1;
    frame.bytes[AT_EPC] = epc;
    frame.bytes[AT_PDC] = (uint8_t)pdc;
    memcpy(frame.bytes + AT_EDT, edt, pdc);
    return frame;
}

static void set_tid(struct frame *frame, uint16_t tid) {
    frame->bytes[AT_TID] = (uint8_t)(tid >> 8);
    frame->bytes[AT_TID + 1] = (uint8_t)tid;
}

static void send_frame(int fd, const struct frame *frame) {
    while (send(fd, frame->bytes, frame->length, 0) < 0)
        if (errno != EINTR && errno != ECONNREFUSED)
            nd_failed("send: %s", strerror(errno));
}

/* Returns -1 on a timeout. */
static ssize_t receive(int fd, uint8_t *bytes) {
    const ssize_t got = recv(fd, bytes, FRAME_BYTES_MAX, 0);
    if (got < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
        nd_failed("recv: %s", strerror(errno));
    return got;
}

/* Answers by EPC; those of the lighting are in the second half. */
static struct frame answers[2 * 256];

static struct frame *answer_to(const uint8_t *request) {
    return &answers[(request[AT_DEOJ] == 0x02) * 256 + request[AT_EPC]];
}

static void make_answers(const struct nd_echonet *net) {
    static const struct {
        uint8_t length, bytes[12];
    } values[ND_ROUND] = {
        {1, {0x30}}, {4, {1, 13, 1, 0}}, {0, {0}}, {3, {0, 0, 0x0b}}, {3, {2, 0x80, 0xd5}}, {1, {0}},
        {12, {11, 0x80, 0x82, 0x83, 0x8a, 0x9d, 0x9e, 0x9f, 0xd3, 0xd4, 0xd6, 0xd7}},
        {3, {0, 0, 1}}, {2, {0, 2}}, {4, {1, 2, 0x91, 1}}, {3, {1, 2, 0x91}}, {1, {0x30}},
    };
    uint8_t identification[ND_IDENTIFICATION_BYTES];
    nd_device_identification(net, identification);
    for (int i = 0; i < ND_ROUND; i++) {
        const struct nd_property *read = &nd_reads[i];
        const bool own = read->epc == 0x83;
        const struct frame request = frame(CONTROLLER, read->eoj, GET, read->epc, "", 0);
        *answer_to(request.bytes) = frame(read->eoj, CONTROLLER, GET_RES, read->epc, own ? identification : values[i].bytes,
                                          own ? sizeof identification : values[i].length);
    }
}

static noreturn void run_device(const struct nd_echonet *net) {
    uint8_t request[FRAME_BYTES_MAX] = {0};
    make_answers(net);
    const int group = open_group(&net->setup), unicast = open_unicast(&net->setup);
    nd_device_serves();
    /* The only discovery request. */
    while (receive(group, request) != REQUEST_BYTES)
        ;
    for (;;) {
        struct frame *answer = answer_to(request);
        memcpy(answer->bytes + AT_TID, request + AT_TID, sizeof(uint16_t));
        if (answer->length > 0)
            send_frame(unicast, answer);
        while (receive(unicast, request) != REQUEST_BYTES)
            ;
    }
}

static noreturn void run_controller(struct nd_echonet *net) {
    struct frame requests[ND_ROUND], *request;
    uint8_t answer[FRAME_BYTES_MAX];
    struct nd_read read;
    for (int i = 0; i < ND_ROUND; i++)
        requests[i] = frame(CONTROLLER, nd_reads[i].eoj, GET, nd_reads[i].epc, "", 0);
    nd_controller_await_device(net);
    const uint64_t created_ns = nd_now_ns();
    const struct sockaddr_in everybody = address(ND_ECHONET_GROUP);
    const int group = open_group(&net->setup), unicast = open_unicast(&net->setup);
    request = &requests[INSTANCE_LIST];
    must(sendto(group, request->bytes, request->length, 0, (const struct sockaddr *)&everybody, sizeof everybody) < 0, "search");
    while (receive(unicast, answer) < 0)
        ;
    nd_controller_found(created_ns);
    uint32_t next = 0;
    for (;;) {
        while (nd_read_next(net, &read)) {
            request = &requests[next++ % ND_ROUND];
            set_tid(request, read.tid);
            nd_read_sent(net, read.tid, nd_now_ns());
            send_frame(unicast, request);
        }
        const ssize_t got = receive(unicast, answer);
        const uint64_t at_ns = nd_now_ns();
        if (got < AT_EDT)
            nd_read_expire(net, at_ns);
        else
            nd_read_answered(net, (uint16_t)(answer[AT_TID] << 8 | answer[AT_TID + 1]), answer + AT_EDT, answer[AT_PDC], at_ns);
    }
}

int main(void) {
    static struct nd_echonet net;
    nd_echonet_setup(&net);
    nd_echonet_ready(&net, "the bound", gnu_get_libc_version());
    if (net.controller)
        run_controller(&net);
    run_device(&net);
}
