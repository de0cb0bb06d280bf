#include "ceiling.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum {
    DATAGRAM_BYTES_MAX = 65507, /* of UDP over IPv4: the maximum length of a segmented send */
    SEGMENTS_MAX = 64,
};
#define CLIP_BYTES_MAX (UINT64_C(1) << 30) /* of prebuilt packets */
#define BATCH_SHARE 0.8 /* the share of the frame interval over which batches are spread */

/* The packets of a frame are contiguous; all except the last have the same length. */
struct frame {
    uint8_t *packets;
    size_t length, file_length;
};

static void put(uint8_t *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static uint8_t eighths(uint16_t side) {
    return side > SIDE_MAX ? 0 : (uint8_t)((side + 7) / 8);
}

static struct frame packets_of(const struct nd_mjpeg *job, const uint8_t *jpeg, size_t length) {
    struct nd_picture picture;
    const char *why = nd_picture_parse(&picture, jpeg, length);
    if (why != NULL || picture.count != 3 || picture.sampling[0] != 0x22 || picture.restart != 0)
        nd_failed("the clip: %s", why ? why : "the clip must be 4:2:0 without restart markers");
    const size_t scan = nd_picture_scan_end(&picture, jpeg, length) - picture.scan_at, tables = 2 * ND_TABLE_VALUES;
    const size_t room = job->packet_bytes - RTP_BYTES - JPEG_BYTES, first = QUANTISATION_BYTES + tables;
    const size_t count = (scan + first + room - 1) / room;
    const bool is_large = picture.width > SIDE_MAX || picture.height > SIDE_MAX;
    struct frame frame = {.length = scan + first + count * (RTP_BYTES + JPEG_BYTES), .file_length = length};
    uint8_t *to = frame.packets = malloc(frame.length);
    if (to == NULL)
        nd_failed("out of memory (packets)");
    for (size_t at = 0; at < scan;) {
        const size_t ahead = at == 0 ? first : 0, left = scan - at, part = left < room - ahead ? left : room - ahead;
        put(to, 0x80, 1);
        put(to + 1, PAYLOAD_TYPE | (part == left ? MARKER : 0), 1);
        put(to + 8, job->setup.seed, 4); /* SSRC; sequence number and timestamp are written at the send */
        put(to + RTP_BYTES, at, 4);      /* type-specific: 0 */
        put(to + RTP_BYTES + 4, TYPE_420, 1);
        put(to + RTP_BYTES + 5, Q_DYNAMIC, 1);
        put(to + RTP_BYTES + 6, is_large ? 0 : eighths(picture.width), 1);
        put(to + RTP_BYTES + 7, is_large ? 0 : eighths(picture.height), 1);
        to += RTP_BYTES + JPEG_BYTES;
        if (at == 0) {
            put(to, tables, QUANTISATION_BYTES); /* zero, precision: 8 bits, length */
            for (size_t i = 0; i < tables; i++)
                to[QUANTISATION_BYTES + i] =
                    (uint8_t)picture.quantisation[picture.table[i / ND_TABLE_VALUES]][i % ND_TABLE_VALUES];
            to += first;
        }
        to = mempcpy(to, jpeg + picture.scan_at + at, part);
        at += part;
    }
    return frame;
}

static int open_socket(const struct nd_mjpeg *job, uint16_t port) {
    struct sockaddr_in local = {.sin_family = AF_INET}, peer = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), segment = (int)job->packet_bytes;
    if (inet_pton(AF_INET, job->setup.local, &local.sin_addr) != 1 || inet_pton(AF_INET, job->setup.peer, &peer.sin_addr) != 1)
        nd_unsupported("the addresses %.40s and %.40s must be IPv4", job->setup.local, job->setup.peer);
    if (fd < 0 || bind(fd, (struct sockaddr *)&local, sizeof local) != 0 || connect(fd, (struct sockaddr *)&peer, sizeof peer) != 0)
        nd_failed("cannot open a socket: %s", strerror(errno));
    if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0)
        nd_failed("UDP_SEGMENT: %s", strerror(errno));
    return fd;
}

/* Ignores that the receiver has ended or is not bound yet. */
static void send_batch(int fd, const uint8_t *packets, size_t length) {
    while (send(fd, packets, length, 0) < 0)
        if (errno != EINTR && errno != ECONNREFUSED && errno != ENOBUFS)
            nd_failed("send: %s", strerror(errno));
}

static void sleep_until(uint64_t due_ns) {
    const struct timespec due = {.tv_sec = (time_t)(due_ns / ND_NS_PER_S), .tv_nsec = (long)(due_ns % ND_NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
        ;
}

/* Sends a frame. Its batches are spread over a part of the frame interval, so that they fit into a receiver's socket buffer. */
static void send_frame(const struct nd_mjpeg *job, int fd, const struct frame *frame, uint16_t *sequence, uint32_t timestamp) {
    const size_t fit = DATAGRAM_BYTES_MAX / job->packet_bytes;
    const size_t batch = (fit < SEGMENTS_MAX ? fit : SEGMENTS_MAX) * job->packet_bytes;
    const size_t batches = (frame->length + batch - 1) / batch;
    const uint64_t interval_ns = nd_walk_interval_ns(job), due_ns = nd_walk_due_ns(job);
    const uint64_t step_ns = (uint64_t)((double)interval_ns * BATCH_SHARE / (double)batches);
    for (size_t at = 0; at < frame->length; at += job->packet_bytes) {
        put(frame->packets + at + 2, (*sequence)++, 2);
        put(frame->packets + at + 4, timestamp, 4);
    }
    for (size_t i = 0; i < batches; i++) {
        const size_t at = i * batch, left = frame->length - at;
        if (interval_ns > 0)
            sleep_until(due_ns + i * step_ns);
        send_batch(fd, frame->packets + at, left < batch ? left : batch);
    }
}

void run_sender(struct nd_mjpeg *job) {
    struct frame *frames = calloc(job->clip.count, sizeof *frames);
    uint64_t held = 0;
    uint16_t sequence = 0;
    uint32_t timestamp = 0;
    for (size_t i = 0; i < job->clip.count && frames != NULL; i++) {
        frames[i] = packets_of(job, nd_clip_read(&job->clip, i), job->clip.frames[i].length);
        if ((held += frames[i].length) > CLIP_BYTES_MAX)
            nd_failed("the packets exceed %llu bytes; use a smaller clip_frames", (unsigned long long)CLIP_BYTES_MAX);
    }
    if (frames == NULL)
        nd_failed("out of memory (clip)");
    const int fd = open_socket(job, nd_sender_await_port(job));
    nd_sender_connected();
    for (;;) {
        const struct frame *frame = &frames[nd_walk_next_frame(job)];
        send_frame(job, fd, frame, &sequence, timestamp);
        timestamp += CLOCK_HZ / (job->fps > 0 ? job->fps : ND_VERIFY_FPS_MAX);
        nd_walk_sent(job, frame->file_length);
    }
}
