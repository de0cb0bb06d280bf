#include "ceiling.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BATCH = 16,
    COALESCED_BYTES_MAX = 65536, /* of packets that the kernel coalesces (UDP_GRO) */
    HEADERS_MAX = 1024,    /* of a JPEG file: tables of 16 bits, a restart interval */
    TABLES_BYTES_MAX = 4 * ND_TABLE_VALUES,
    PORT_TRIES = 64,
};

/* The frame that is being reassembled: a JPEG file whose headers end where its scan begins. */
struct assembly {
    uint8_t *file;             /* HEADERS_MAX, then `room` bytes of scan, then the EOI */
    size_t room, held, whole;  /* bytes of the scan: capacity, received, and total (0: unknown) */
    bool begun, has_tables;
    uint32_t timestamp;
    size_t headers;            /* length of the headers, right before the scan */
    uint8_t tables[TABLES_BYTES_MAX];
    size_t tables_length;
    uint8_t precision, q;      /* of the stored tables; 0: none */
};

static size_t number(const uint8_t *bytes, size_t length) {
    size_t value = 0;
    for (size_t i = 0; i < length; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Parses the quantisation table header of the first packet. Returns false if it is truncated, or if there are no tables. */
static bool take_tables(struct assembly *frame, uint8_t q, const uint8_t **at, size_t *left) {
    if (q < Q_IN_BAND) {
        if (q == 0 || q > 99)
            return false;
        tables_of(q, frame->tables);
        frame->tables_length = 2 * ND_TABLE_VALUES;
        frame->precision = 0;
        frame->q = q;
        return true;
    }
    if (*left < QUANTISATION_BYTES)
        return false;
    const size_t length = number(*at + 2, 2);
    const uint8_t precision = (*at)[1];
    *at += QUANTISATION_BYTES;
    *left -= QUANTISATION_BYTES;
    if (length == 0)
        return frame->q == q && q != Q_DYNAMIC; /* the tables of an earlier frame */
    if (*left < length || length > TABLES_BYTES_MAX)
        return false;
    memcpy(frame->tables, *at, length);
    frame->tables_length = length;
    frame->precision = precision;
    frame->q = q;
    *at += length;
    *left -= length;
    return true;
}

/* Writes the headers of the file, up to its scan. The Huffman tables are the default ones, which the SDK knows. */
static bool write_headers(struct assembly *frame, const struct nd_mjpeg *job, const uint8_t *header, size_t restart) {
    static const uint8_t scan[] = {0xff, 0xda, 0, 12, 3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0};
    const uint32_t width = header[6] ? header[6] * 8u : job->width, height = header[7] ? header[7] * 8u : job->height;
    uint8_t headers[HEADERS_MAX] = {0xff, 0xd8}, *to = headers + 2;
    const uint8_t *table = frame->tables;
    for (uint8_t i = 0; i < 2; i++) {
        const bool wide = frame->precision >> i & 1;
        const size_t length = (wide ? 2 : 1) * ND_TABLE_VALUES;
        if (table + length > frame->tables + frame->tables_length)
            return false;
        const uint8_t segment[] = {0xff, 0xdb, 0, (uint8_t)(3 + length), (uint8_t)(wide << 4 | i)};
        to = mempcpy(mempcpy(to, segment, sizeof segment), table, length);
        table += length;
    }
    const uint8_t sampling = (header[4] & (TYPE_RESTART - 1)) == TYPE_420 ? 0x22 : 0x21;
    const uint8_t picture[] = {0xff, 0xc0, 0, 17, 8, (uint8_t)(height >> 8), (uint8_t)height, (uint8_t)(width >> 8), (uint8_t)width,
                               3, 1, sampling, 0, 2, 0x11, 1, 3, 0x11, 1};
    const uint8_t interval[] = {0xff, 0xdd, 0, 4, (uint8_t)(restart >> 8), (uint8_t)restart};
    to = mempcpy(to, picture, sizeof picture);
    if (restart > 0)
        to = mempcpy(to, interval, sizeof interval);
    to = mempcpy(to, scan, sizeof scan);
    frame->headers = (size_t)(to - headers);
    memcpy(frame->file + HEADERS_MAX - frame->headers, headers, frame->headers);
    return true;
}

static void make_room(struct assembly *frame, size_t end) {
    if (end <= frame->room)
        return;
    if (end > ND_FRAME_BYTES_MAX)
        nd_failed("frame of more than %d bytes", ND_FRAME_BYTES_MAX);
    frame->room = 2 * end;
    frame->file = realloc(frame->file, HEADERS_MAX + frame->room + 2);
    if (frame->file == NULL)
        nd_failed("out of memory (frame)");
}

/* Handles the RTP payload of a packet. Payloads that are not RFC 2435 are ignored. */
static void take_payload(struct nd_mjpeg *job, struct assembly *frame, const uint8_t *at, size_t left, uint32_t timestamp, bool marker) {
    if (left < JPEG_BYTES)
        return;
    const uint8_t *header = at;
    const size_t offset = number(at + 1, 3);
    size_t restart = 0;
    at += JPEG_BYTES;
    left -= JPEG_BYTES;
    if (header[4] >= TYPE_RESTART) {
        if (left < RESTART_BYTES)
            return;
        restart = number(at, 2);
        at += RESTART_BYTES;
        left -= RESTART_BYTES;
    }
    if (!frame->begun || timestamp != frame->timestamp) {
        frame->begun = true;
        frame->timestamp = timestamp;
        frame->held = frame->whole = 0;
        frame->has_tables = false;
    }
    if (offset == 0)
        frame->has_tables = take_tables(frame, header[5], &at, &left) && write_headers(frame, job, header, restart);
    make_room(frame, offset + left);
    memcpy(frame->file + HEADERS_MAX + offset, at, left);
    frame->held += left;
    if (marker)
        frame->whole = offset + left;
    if (frame->whole > 0 && frame->held == frame->whole && frame->has_tables) {
        uint8_t *end = frame->file + HEADERS_MAX + frame->whole;
        end[0] = 0xff;
        end[1] = 0xd9;
        frame->begun = false; /* the next packet starts another frame, even if a sender repeats the timestamp */
        nd_receiver_take(job, frame->file + HEADERS_MAX - frame->headers, frame->headers + frame->whole + 2);
    }
}

static void take_packet(struct nd_mjpeg *job, struct assembly *frame, const uint8_t *packet, size_t length) {
    if (length < RTP_BYTES || packet[0] >> 6 != 2 || (packet[1] & 0x7f) != PAYLOAD_TYPE)
        return;
    size_t at = RTP_BYTES + 4 * (size_t)(packet[0] & 0x0f);
    if (packet[0] & 0x10 && at + 4 <= length)
        at += 4 + 4 * number(packet + at + 2, 2);
    if (packet[0] & 0x20)
        length -= packet[length - 1] < length ? packet[length - 1] : length;
    if (at <= length)
        take_payload(job, frame, packet + at, length - at, (uint32_t)number(packet + 4, 4), packet[1] & MARKER);
}

static int bound(struct sockaddr_in *address) {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)address, sizeof *address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Binds RTP to an even port. The next port is bound so that RTCP packets are not refused; they are not read. */
static int open_sockets(const struct nd_mjpeg *job, uint16_t *port) {
    for (int i = 0; i < PORT_TRIES; i++) {
        struct sockaddr_in local = {.sin_family = AF_INET};
        socklen_t length = sizeof local;
        if (inet_pton(AF_INET, job->setup.local, &local.sin_addr) != 1)
            nd_unsupported("the address %.40s is not IPv4", job->setup.local);
        const int fd = bound(&local);
        if (fd < 0 || getsockname(fd, (struct sockaddr *)&local, &length) != 0)
            nd_failed("cannot create a socket: %s", strerror(errno));
        *port = ntohs(local.sin_port);
        local.sin_port = htons(*port + 1);
        if (*port % 2 == 0 && bound(&local) >= 0)
            return fd;
        close(fd);
    }
    nd_failed("no pair of adjacent ports is free");
}

/* Returns the length of coalesced packets; the last one may be shorter. */
static size_t packet_bytes(struct msghdr *header, size_t length) {
    for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control != NULL; control = CMSG_NXTHDR(header, control)) {
        int bytes;
        if (control->cmsg_level != SOL_UDP || control->cmsg_type != UDP_GRO)
            continue;
        memcpy(&bytes, CMSG_DATA(control), sizeof bytes);
        if (bytes > 0)
            return (size_t)bytes;
    }
    return length;
}

void run_receiver(struct nd_mjpeg *job) {
    static uint8_t packets[BATCH][COALESCED_BYTES_MAX];
    static union {
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } controls[BATCH];
    static struct iovec parts[BATCH];
    static struct mmsghdr messages[BATCH];
    struct assembly frame = {0};
    const uint64_t created_ns = nd_now_ns();
    uint16_t port;
    const int fd = open_sockets(job, &port);
    /* Without support by the kernel, packets arrive one at a time. */
    setsockopt(fd, SOL_UDP, UDP_GRO, &(int){1}, sizeof(int));
    make_room(&frame, 1);
    for (size_t i = 0; i < BATCH; i++)
        parts[i] = (struct iovec){packets[i], COALESCED_BYTES_MAX};
    nd_receiver_bound(port, created_ns);
    for (;;) {
        for (size_t i = 0; i < BATCH; i++) {
            messages[i].msg_hdr = (struct msghdr){
                .msg_iov = &parts[i], .msg_iovlen = 1, .msg_control = &controls[i], .msg_controllen = sizeof controls[i]};
        }
        const int count = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
        if (count < 0 && errno != EINTR)
            nd_failed("recvmmsg: %s", strerror(errno));
        for (int i = 0; i < count; i++) {
            const size_t length = messages[i].msg_len, each = packet_bytes(&messages[i].msg_hdr, length);
            for (size_t at = 0; at < length; at += each)
                take_packet(job, &frame, packets[i] + at, length - at < each ? length - at : each);
        }
    }
}
