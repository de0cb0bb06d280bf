/* The workload `mjpeg`, less its sockets and packets: what a contender adds is how pictures are sent and received.
 *
 *     jpeg.c      what a decoder looks at in a JPEG file, and its canonical form
 *     clip.c      the clip: JPEG files one after the other, of which one frame at a time is in memory
 *     mjpeg.c     parameters, phases, counters; the sender's walk and the receiver's books
 *
 * Both roles: nd_mjpeg_setup(&job); nd_mjpeg_ready(&job, name, version).
 *
 * sender: nd_sender_await_port(&job), make the library's sender, nd_sender_connected(). Then for ever:
 *
 *     while ((jpeg = nd_walk_next(&job, &length)) != NULL) {
 *         nd_walk_await_due(&job);   where the library does not pace frames itself, by nd_walk_interval_ns
 *         send it; nd_walk_sent(&job, length);
 *     }
 *     only if job.live: pictures of its own from here on, and nd_sender_count(&job, length) for each
 *
 * receiver: note nd_now_ns(), make and bind, nd_receiver_bound(port, created_ns); then nd_receiver_take(&job, jpeg, length) for
 * each picture, from one thread at a time.
 */
#ifndef NETDYNO_MJPEG_H
#define NETDYNO_MJPEG_H

#include "netdyno.h"

#include <pthread.h>

enum {
    ND_COMPONENTS_MAX = 4,
    ND_TABLES = 4,
    ND_TABLE_VALUES = 64,
    ND_VERIFY_FPS_MAX = 30,
    ND_CLIP_FRAMES_MAX = 100000,
    ND_FRAME_BYTES_MAX = 64 << 20,
};

/* ---- a JPEG file ---- */

struct nd_span {
    const uint8_t *bytes;
    size_t length;
};

/* A file's headers, and where its scan is. */
struct nd_picture {
    uint16_t width, height, restart;
    uint8_t count;
    uint8_t sampling[ND_COMPONENTS_MAX], table[ND_COMPONENTS_MAX];
    uint16_t quantisation[ND_TABLES][ND_TABLE_VALUES];
    bool has_table[ND_TABLES];
    struct nd_span huffman[ND_TABLES]; /* DC 0, AC 0, DC 1, AC 1 */
    size_t scan_at;
};

/* NULL, or what is wrong with the file or missing of it. The picture points into it. */
const char *nd_picture_parse(struct nd_picture *picture, const uint8_t *jpeg, size_t length);
/* The end of the entropy-coded data, restart markers with it: the first marker of another kind, and its fill bytes. */
size_t nd_picture_scan_end(const struct nd_picture *picture, const uint8_t *jpeg, size_t length);
/* The canonical form; to be freed. NULL if a quantisation table is missing. */
uint8_t *nd_picture_canonical(const struct nd_picture *picture, const uint8_t *jpeg, size_t length, size_t *form_length);

/* ---- the clip ---- */

struct nd_clip_frame {
    uint64_t at;
    size_t length, scan_at, scan_length;
};

struct nd_clip {
    int fd;
    size_t count, longest;
    struct nd_clip_frame *frames;
    uint8_t *buffer; /* a frame, or the scan that was compared last */
};

/* NULL, or why it is no clip. */
const char *nd_clip_open(struct nd_clip *clip, const char *path);
/* A frame, one JPEG file, valid until the next call about this clip. */
const uint8_t *nd_clip_read(struct nd_clip *clip, size_t frame);
/* Which frame has the scan of this picture, every byte compared: most likely the one of number `likely`. None has it: -1. */
ssize_t nd_clip_find(struct nd_clip *clip, const struct nd_picture *picture, const uint8_t *jpeg, size_t length, size_t likely);

/* ---- the roles ---- */

struct nd_mjpeg {
    struct nd_setup setup;
    bool sender, live;
    uint32_t width, height, quality, fps, packet_bytes;
    uint64_t window_ns;
    struct nd_clip clip;
    void (*at_stop)(void); /* what is to be done before the result, or NULL */

    nd_counter frames, bytes;                       /* bytes: of the receiver those of scans */
    nd_counter wrong, dropped, on_time, measure_at_ns;
    bool told;

    /* The sender's walk. */
    size_t next;
    bool is_verify;
    uint64_t sent, first_ns, first_sent, stream_from_ns, stream_next_ns;

    /* The receiver's. */
    struct nd_histogram *jitter;
    bool *seen;
    uint8_t digest[ND_DIGEST_BYTES];
    uint64_t verified, verified_bytes;
    ssize_t last;                                   /* frame; -1: none yet */
    uint64_t last_ns;

    struct nd_role role;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum nd_phase phase;
    uint16_t port;
    bool have;
};

/* Reads the setup and the clip's index; another workload, an unknown role or parameter ends the process. */
void nd_mjpeg_setup(struct nd_mjpeg *job);
/* Prints `ready`, and takes the lab's lines from then on. */
void nd_mjpeg_ready(struct nd_mjpeg *job, const char *name, const char *version);

/* ---- sender ---- */

/* Waits until the receiver is there; gives its RTP port. */
uint16_t nd_sender_await_port(struct nd_mjpeg *job);
void nd_sender_connected(void);
/* The next frame, valid until the next call. Waits until its phase has begun. NULL once `verify` is over, if live. */
const uint8_t *nd_walk_next(struct nd_mjpeg *job, size_t *length);
/* The same without reading it: its number in the clip, for who has packets of it already; -1 for NULL. */
ssize_t nd_walk_next_frame(struct nd_mjpeg *job);
/* From one frame to the next: that of `verify` while it lasts; 0: flat out. */
uint64_t nd_walk_interval_ns(const struct nd_mjpeg *job);
/* When the frame is due on CLOCK_MONOTONIC; in the past if flat out. */
uint64_t nd_walk_due_ns(const struct nd_mjpeg *job);
void nd_walk_await_due(const struct nd_mjpeg *job);
/* The frame's time in the sender's stream, from 0 on, for a library that paces by timestamps; once a frame. A pause between two phases is one
 * there too; where the stream is ahead of its schedule, that begins later by as much. Flat out, where nobody waits for them, frames
 * are 1/30 s apart, and this awaits what is due: verify has a pace. */
uint64_t nd_walk_stream_ns(struct nd_mjpeg *job);
/* The frame was handed to the network. */
void nd_walk_sent(struct nd_mjpeg *job, size_t length);
/* The same of a picture of its own. */
void nd_sender_count(struct nd_mjpeg *job, size_t length);

/* ---- receiver ---- */

/* RTP is bound at this port; the library's receiver began to be made at `created_ns`. */
void nd_receiver_bound(uint16_t port, uint64_t created_ns);
/* A picture, one JPEG file, that was handed over just now. */
void nd_receiver_take(struct nd_mjpeg *job, const uint8_t *jpeg, size_t length);

#endif
