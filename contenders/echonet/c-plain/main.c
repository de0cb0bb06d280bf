/* The echonet workload on plain sockets: ../PLAIN.md. */
#include "device.h"
#include "echonet.h"
#include "frame.h"
#include "link.h"

#include <gnu/libc-version.h>
#include <string.h>

static const uint8_t CONTROLLER[] = {0x05, 0xff, 0x01};
static const uint8_t NODE_PROFILE[] = {0x0e, 0xf0, 0x01};
static const uint8_t LIGHTING[] = {0x02, 0x91, 0x01};

static noreturn void run_device(const struct nd_echonet *net) {
    static struct device device;
    static struct writer answer;
    uint8_t datagram[DATAGRAM_BYTES_MAX], identification[ND_IDENTIFICATION_BYTES];
    struct link link;
    struct frame request;
    struct sockaddr_in from;
    nd_device_identification(net, identification);
    device_init(&device, identification);
    link_open(&link, net->setup.local, 0);
    device_announce(&device, &answer);
    link_send(&link, answer.bytes, answer.length, &link.group);
    nd_device_serves();
    for (;;) {
        const ssize_t got = link_receive(&link, datagram, sizeof datagram, &from);
        if (got < 0 || !frame_parse(&request, datagram, (size_t)got))
            continue;
        from.sin_port = link.group.sin_port; /* regardless of the source port */
        for (size_t i = 0; i < device.count; i++) {
            const enum destination to = device_answer(&device, i, &request, &answer);
            if (to != NOWHERE)
                link_send(&link, answer.bytes, answer.length, to == TO_GROUP ? &link.group : &from);
        }
    }
}

static void write_get(struct writer *request, uint16_t tid, const uint8_t *deoj, uint8_t epc) {
    writer_begin(request, tid, CONTROLLER, deoj, GET);
    writer_put(request, epc, NULL, 0);
}

/* Whether a frame contains an instance list with the lighting. */
static bool lists_lighting(const struct frame *frame) {
    if ((frame->esv != GET_RES && frame->esv != INF) || memcmp(frame->seoj, NODE_PROFILE, EOJ_BYTES) != 0)
        return false;
    const uint8_t *at = frame->properties.first;
    for (uint8_t i = 0; i < frame->properties.count; i++) {
        const struct property property = list_next(&at);
        if (property.epc != 0xd5 && property.epc != 0xd6)
            continue;
        for (size_t from = 1; from + EOJ_BYTES <= property.pdc; from += EOJ_BYTES)
            if (memcmp(property.edt + from, LIGHTING, EOJ_BYTES) == 0)
                return true;
    }
    return false;
}

static void discover(const struct link *link, const struct sockaddr_in *peer) {
    uint8_t datagram[DATAGRAM_BYTES_MAX];
    struct frame frame;
    struct writer search;
    struct sockaddr_in from;
    uint64_t asked_ns = 0;
    write_get(&search, 1, NODE_PROFILE, 0xd6);
    for (;;) {
        if (nd_now_ns() - asked_ns >= ND_NS_PER_S) {
            link_send(link, search.bytes, search.length, &link->group);
            asked_ns = nd_now_ns();
        }
        const ssize_t got = link_receive(link, datagram, sizeof datagram, &from);
        if (got >= 0 && from.sin_addr.s_addr == peer->sin_addr.s_addr && frame_parse(&frame, datagram, (size_t)got) &&
            lists_lighting(&frame))
            return;
    }
}

/* Handles an answer to an outstanding or lost read. */
static void take(struct nd_echonet *net, const struct frame *frame, uint64_t at_ns) {
    const struct nd_property *asked = nd_read_outstanding(net, frame->tid);
    const uint8_t *at = frame->properties.first;
    if (frame->esv != GET_RES && frame->esv != GET_SNA)
        return;
    const struct property property = list_next(&at);
    if (asked != NULL && (memcmp(asked->eoj, frame->seoj, EOJ_BYTES) != 0 || asked->epc != property.epc))
        return;
    nd_read_answered(net, frame->tid, frame->esv == GET_RES ? property.edt : NULL, property.pdc, at_ns);
}

static noreturn void run_controller(struct nd_echonet *net) {
    uint8_t datagram[DATAGRAM_BYTES_MAX];
    struct link link;
    struct frame frame;
    struct nd_read read;
    struct writer request;
    struct sockaddr_in from;
    const struct sockaddr_in peer = link_address(net->setup.peer);
    nd_controller_await_device(net);
    const uint64_t created_ns = nd_now_ns();
    link_open(&link, net->setup.local, ND_TICK_NS);
    discover(&link, &peer);
    nd_controller_found(created_ns);
    for (;;) {
        while (nd_read_next(net, &read)) {
            write_get(&request, read.tid, read.property.eoj, read.property.epc);
            nd_read_sent(net, read.tid, nd_now_ns());
            link_send(&link, request.bytes, request.length, &peer);
        }
        const ssize_t got = link_receive(&link, datagram, sizeof datagram, &from);
        const uint64_t at_ns = nd_now_ns();
        if (got < 0)
            nd_read_expire(net, at_ns);
        else if (from.sin_addr.s_addr == peer.sin_addr.s_addr && frame_parse(&frame, datagram, (size_t)got))
            take(net, &frame, at_ns);
    }
}

int main(void) {
    static struct nd_echonet net;
    nd_echonet_setup(&net);
    nd_echonet_ready(&net, "plain sockets", gnu_get_libc_version());
    if (net.controller)
        run_controller(&net);
    run_device(&net);
}
