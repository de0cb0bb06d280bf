/* The workload `mjpeg` without sockets and packets. A contender adds the sending and receiving of pictures.
*
*     jpeg.c      the parts of a JPEG file that affect decoding, and its canonical form
*     clip.c      the clip: a file of concatenated JPEG files, of which one frame at a time is in memory
*     mjpeg.c     parameters, phases, counters; the sender's iteration over the clip, and the receiver's checks
*
* Both roles call nd_mjpeg_setup(&job) and nd_mjpeg_ready(&job, name, version).
*
* A sender calls nd_sender_await_port(&job), creates the library's sender, and calls nd_sender_connected(). Then it runs this
* loop:
 *
 *     while ((jpeg = nd_walk_next(&job, &length)) != NULL) {
 *         nd_walk_await_due(&job);   unless the library paces frames itself, by nd_walk_interval_ns
 *         send it; nd_walk_sent(&job, length);
 *     }
 *     reached only if job.live: generate pictures, and call nd_sender_count(&job, length) for each
 *
 * A receiver reads nd_now_ns(), creates and binds the library's receiver, and calls nd_receiver_bound(port, created_ns). Then it
 * calls nd_receiver_take(&job, jpeg, length) for each picture, from one thread at a time.
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

/* The headers of a file, and the position of its scan. */
struct nd_picture {
    uint16_t width, height, restart;
    uint8_t count;
    uint8_t sampling[ND_COMPONENTS_MAX], table[ND_COMPONENTS_MAX];
    uint16_t quantisation[ND_TABLES][ND_TABLE_VALUES];
    bool has_table[ND_TABLES];
    struct nd_span huffman[ND_TABLES]; /* DC 0, AC 0, DC 1, AC 1 */
    size_t scan_at;
};

/* Parses the headers of a file. Returns NULL, or the fault. The picture points into the file. */
const char *nd_picture_parse(struct nd_picture *picture, const uint8_t *jpeg, size_t length);
/* The end of the entropy-coded data, including restart markers: the first other marker or its fill bytes. */
size_t nd_picture_scan_end(const struct nd_picture *picture, const uint8_t *jpeg, size_t length);
/* Returns the canonical form, which the caller frees, or NULL if a quantisation table is missing. */
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
    uint8_t *buffer; /* a frame, or the last compared scan */
};

/* Opens and indexes a clip. Returns NULL, or the fault. */
const char *nd_clip_open(struct nd_clip *clip, const char *path);
/* Returns a frame (one JPEG file), which is valid until the next call with this clip. */
const uint8_t *nd_clip_read(struct nd_clip *clip, size_t frame);
/* Returns the frame whose scan equals that of this picture, by comparing every byte, or -1. It tries `likely` first. */
ssize_t nd_clip_find(struct nd_clip *clip, const struct nd_picture *picture, const uint8_t *jpeg, size_t length, size_t likely);

/* ---- the roles ---- */

struct nd_mjpeg {
    struct nd_setup setup;
    bool sender, live;
    uint32_t width, height, quality, fps, packet_bytes;
    uint64_t window_ns;
    struct nd_clip clip;
    void (*at_stop)(void); /* called before the result; may be NULL */

    nd_counter frames, bytes;                       /* bytes: for the receiver, those of scans */
    nd_counter wrong, dropped, on_time, measure_at_ns;
    bool told;

    /* The sender's iteration over the clip. */
    size_t next;
    bool is_verify;
    uint64_t sent, first_ns, first_sent, stream_from_ns, stream_next_ns;

    /* The receiver's state. */
    struct nd_histogram *jitter;
    bool *seen;
    uint8_t digest[ND_DIGEST_BYTES];
    uint64_t verified, verified_bytes;
    ssize_t last;                                   /* the last frame; -1 if there is none */
    uint64_t last_ns;

    struct nd_role role;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum nd_phase phase;
    uint16_t port;
    bool have;
};

/* Reads the setup and indexes the clip. Another workload, or an unknown role or parameter, ends the process. */
void nd_mjpeg_setup(struct nd_mjpeg *job);
/* Prints `ready` and starts handling the lab's lines. */
void nd_mjpeg_ready(struct nd_mjpeg *job, const char *name, const char *version);

/* ---- sender ---- */

/* Waits for the receiver's signal and returns its RTP port. */
uint16_t nd_sender_await_port(struct nd_mjpeg *job);
void nd_sender_connected(void);
/* Returns the next frame, which is valid until the next call. Waits for its phase. Returns NULL after `verify` if live. */
const uint8_t *nd_walk_next(struct nd_mjpeg *job, size_t *length);
/* Returns only the number of the next frame, for senders with prebuilt packets; -1 instead of NULL. */
ssize_t nd_walk_next_frame(struct nd_mjpeg *job);
/* The interval between frames in the current phase; 0: as fast as possible. */
uint64_t nd_walk_interval_ns(const struct nd_mjpeg *job);
/* When the frame is due on CLOCK_MONOTONIC; in the past if there is no interval. */
uint64_t nd_walk_due_ns(const struct nd_mjpeg *job);
void nd_walk_await_due(const struct nd_mjpeg *job);
/* The frame's timestamp in the sender's stream, from 0, for a library that paces by timestamps. Call it once per frame. The stream
* pauses between two phases; if it is ahead of its schedule, the next phase starts later by that amount. Without a rate, timestamps
* are 1/30 s apart, and this function waits until the frame is due, because verify has a rate. */
uint64_t nd_walk_stream_ns(struct nd_mjpeg *job);
/* Reports that the frame was handed to the network. */
void nd_walk_sent(struct nd_mjpeg *job, size_t length);
/* Counts a live picture. */
void nd_sender_count(struct nd_mjpeg *job, size_t length);

/* ---- receiver ---- */

/* Reports that RTP is bound at this port. `created_ns` is the time right before the library's receiver was created. */
void nd_receiver_bound(uint16_t port, uint64_t created_ns);
/* Checks a picture (one JPEG file) that the library has just delivered. */
void nd_receiver_take(struct nd_mjpeg *job, const uint8_t *jpeg, size_t length);

#endif
