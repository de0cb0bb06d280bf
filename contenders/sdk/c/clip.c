/* The clip: a file of concatenated JPEG files, of which one frame at a time is in memory. */
#include "mjpeg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10 };

/* The frame at the start of these bytes, if it is complete. */
static bool first_frame(const uint8_t *held, size_t length, struct nd_clip_frame *frame) {
    struct nd_picture picture;
    if (nd_picture_parse(&picture, held, length) != NULL)
        return false;
    const size_t end = nd_picture_scan_end(&picture, held, length);
    if (end + 2 > length || held[end] != 0xff || held[end + 1] != 0xd9)
        return false;
    frame->length = end + 2;
    frame->scan_at = picture.scan_at;
    frame->scan_length = end - picture.scan_at;
    return true;
}

static void *grown(void *memory, size_t bytes) {
    if ((memory = realloc(memory, bytes)) == NULL)
        nd_failed("out of memory (clip)");
    return memory;
}

const char *nd_clip_open(struct nd_clip *clip, const char *path) {
    uint8_t *held = NULL;
    size_t length = 0, room = 0;
    uint64_t at = 0;
    *clip = (struct nd_clip){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (clip->fd < 0)
        return strerror(errno);
    for (;;) {
        struct nd_clip_frame frame = {.at = at};
        while (first_frame(held, length, &frame)) {
            if (clip->count == ND_CLIP_FRAMES_MAX)
                return "too many frames";
            clip->frames = grown(clip->frames, (clip->count + 1) * sizeof frame);
            clip->frames[clip->count++] = frame;
            if (frame.length > clip->longest)
                clip->longest = frame.length;
            length -= frame.length;
            memmove(held, held + frame.length, length);
            frame.at = at += frame.length;
        }
        if (length > ND_FRAME_BYTES_MAX)
            return "a frame is too long";
        if (room - length < READ_BYTES)
            held = grown(held, room = length + READ_BYTES);
        const ssize_t got = read(clip->fd, held + length, READ_BYTES);
        if (got < 0 && errno != EINTR)
            return strerror(errno);
        if (got == 0)
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    free(held);
    clip->buffer = grown(NULL, clip->longest + 1);
    return length > 0 || clip->count == 0 ? "the last frame is not a complete JPEG file" : NULL;
}

static void read_at(struct nd_clip *clip, size_t length, uint64_t at) {
    for (size_t held = 0; held < length;) {
        const ssize_t got = pread(clip->fd, clip->buffer + held, length - held, (off_t)(at + held));
        if (got == 0 || (got < 0 && errno != EINTR))
            nd_failed("the clip: %s", got < 0 ? strerror(errno) : "the file was truncated");
        held += got > 0 ? (size_t)got : 0;
    }
}

const uint8_t *nd_clip_read(struct nd_clip *clip, size_t frame) {
    read_at(clip, clip->frames[frame].length, clip->frames[frame].at);
    return clip->buffer;
}

/* Whether these bytes start with the frame's scan, followed by its end. */
static bool is_scan(struct nd_clip *clip, size_t frame, const uint8_t *rest, size_t left) {
    const struct nd_clip_frame *of = &clip->frames[frame];
    if (left < of->scan_length)
        return false;
    const uint8_t *after = rest + of->scan_length;
    const size_t behind = left - of->scan_length;
    if ((behind > 0 && after[0] != 0xff) || (behind > 1 && after[1] != 0xff && after[1] != 0xd9))
        return false;
    read_at(clip, of->scan_length, of->at + of->scan_at);
    return memcmp(clip->buffer, rest, of->scan_length) == 0;
}

ssize_t nd_clip_find(struct nd_clip *clip, const struct nd_picture *picture, const uint8_t *jpeg, size_t length, size_t likely) {
    const uint8_t *rest = jpeg + picture->scan_at;
    if (is_scan(clip, likely, rest, length - picture->scan_at))
        return (ssize_t)likely;
    const size_t scan = nd_picture_scan_end(picture, jpeg, length) - picture->scan_at;
    for (size_t frame = 0; frame < clip->count; frame++)
        if (clip->frames[frame].scan_length == scan && is_scan(clip, frame, rest, length - picture->scan_at))
            return (ssize_t)frame;
    return -1;
}
