/* Command-line programs as contenders of the mjpeg workload: `ffmpeg`, or the program named by the argument. A sender reads pictures as a
* Matroska file from stdin and sends them at their timestamps. A receiver writes concatenated JPEG files to stdout. */
#include "matroska.h"
#include "mjpeg.h"
#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10 }; /* the capacity of a pipe */

struct tool {
    const char *name, *version_option;
    void (*send)(const struct nd_mjpeg *job, struct command *command, uint16_t port);
    /* Returns the text for the stdin of the program. */
    const char *(*receive)(const struct nd_mjpeg *job, struct command *command, uint16_t port);
};

static void ffmpeg_send(const struct nd_mjpeg *job, struct command *command, uint16_t port) {
    command_add(command, "ffmpeg -hide_banner -nostdin -nostats -loglevel warning");
    if (job->fps > 0)
        command_add(command, "-re");
    command_add(command, "-f matroska -i pipe:0 -c copy -f rtp rtp://%s:%u?pkt_size=%u", job->setup.peer, port, job->packet_bytes);
}

static const char *ffmpeg_receive(const struct nd_mjpeg *job, struct command *command, uint16_t port) {
    static char sdp[512];
    const char *local = job->setup.local;
    snprintf(sdp, sizeof sdp,
             "v=0\r\no=- 0 0 IN IP4 %s\r\ns=-\r\nc=IN IP4 %s\r\nt=0 0\r\nm=video %u RTP/AVP 26\r\na=rtpmap:26 JPEG/90000\r\n", local, local, port);
    command_add(command, "ffmpeg -hide_banner -nostdin -nostats -loglevel warning -protocol_whitelist pipe,udp,rtp -fpsprobesize 0 -f sdp -i pipe:0");
    command_add(command, "-c copy -f mjpeg pipe:1");
    return sdp;
}

static void gst_send(const struct nd_mjpeg *job, struct command *command, uint16_t port) {
    command_add(command, "gst-launch-1.0 -q fdsrc fd=0 ! matroskademux ! rtpjpegpay mtu=%u ! udpsink host=%s port=%u", job->packet_bytes,
                job->setup.peer, port);
    if (job->fps == 0)
        command_add(command, "sync=false");
}

static const char *gst_receive(const struct nd_mjpeg *job, struct command *command, uint16_t port) {
    command_add(command, "gst-launch-1.0 -q udpsrc address=%s port=%u", job->setup.local, port);
    command_add(command, "caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG,payload=26 ! rtpjpegdepay ! fdsink fd=1");
    return "";
}

static const struct tool tools[] = {
    {"ffmpeg", "-version", ffmpeg_send, ffmpeg_receive},
    {"gst-launch-1.0", "--version", gst_send, gst_receive},
};

static void write_all(const char *program, int fd, const void *bytes, size_t length) {
    while (length > 0) {
        const ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR)
            program_has_ended(program);
        if (written > 0) {
            bytes = (const uint8_t *)bytes + written;
            length -= (size_t)written;
        }
    }
}

/* Copies from the clip's file to the pipe within the kernel. */
static void write_frame(const char *program, int fd, const struct nd_clip *clip, ssize_t frame) {
    off_t at = (off_t)clip->frames[frame].at;
    const off_t end = at + (off_t)clip->frames[frame].length;
    while (at < end)
        if (sendfile(fd, clip->fd, &at, (size_t)(end - at)) < 0 && errno != EINTR)
            program_has_ended(program);
}

static noreturn void run_sender(struct nd_mjpeg *job, const struct tool *tool) {
    static struct command command;
    uint8_t header[MATROSKA_BYTES_MAX];
    int in;
    tool->send(job, &command, nd_sender_await_port(job));
    program_start(&command, &in, false);
    write_all(tool->name, in, header, matroska_begin(header, job->width, job->height, job->fps > 0 ? job->fps : ND_VERIFY_FPS_MAX));
    nd_sender_connected();
    for (;;) {
        const ssize_t frame = nd_walk_next_frame(job);
        const size_t length = job->clip.frames[frame].length;
        write_all(tool->name, in, header, matroska_picture(header, nd_walk_stream_ns(job), length));
        write_frame(tool->name, in, &job->clip, frame);
        nd_walk_sent(job, length);
    }
}

/* Unparsed output of a program. */
struct held {
    uint8_t *bytes;
    size_t length, room, searched; /* the first file does not end before `searched`; 0: the start of its scan is unknown */
};

static void drop_first(struct held *held, size_t length) {
    memmove(held->bytes, held->bytes + length, held->length - length);
    held->length -= length;
    held->searched = 0;
}

/* Parses complete files. An FF D9 before the scan of a file is not its end, and one between two files is ignored, because a depacketiser
* appends its own EOI to the sender's. */
static void take_files(struct nd_mjpeg *job, struct held *held) {
    static struct nd_picture picture;
    for (;;) {
        if (held->searched == 0) {
            if (held->length >= 2 && memcmp(held->bytes, "\xff\xd9", 2) == 0)
                drop_first(held, 2);
            if (nd_picture_parse(&picture, held->bytes, held->length) != NULL)
                return;
            held->searched = picture.scan_at;
        }
        const uint8_t *end = memmem(held->bytes + held->searched, held->length - held->searched, "\xff\xd9", 2);
        if (end == NULL) {
            held->searched = held->length > picture.scan_at ? held->length - 1 : held->length;
            return;
        }
        const size_t length = (size_t)(end - held->bytes) + 2;
        nd_receiver_take(job, held->bytes, length);
        drop_first(held, length);
    }
}

static noreturn void run_receiver(struct nd_mjpeg *job, const struct tool *tool) {
    static struct command command;
    struct held held = {0};
    int in;
    const uint16_t port = port_choose(job->setup.local);
    const char *told = tool->receive(job, &command, port);
    const uint64_t created_ns = nd_now_ns();
    const int out = program_start(&command, &in, true);
    write_all(tool->name, in, told, strlen(told));
    close(in);
    port_await(tool->name, port);
    nd_receiver_bound(port, created_ns);
    for (;;) {
        if (held.room - held.length < READ_BYTES) {
            held.room = 2 * held.room + READ_BYTES;
            held.bytes = held.room <= ND_FRAME_BYTES_MAX ? realloc(held.bytes, held.room) : NULL;
            if (held.bytes == NULL)
                nd_failed("%s: no end of a picture within %zu bytes", tool->name, held.length);
        }
        const ssize_t got = read(out, held.bytes + held.length, READ_BYTES);
        if (got == 0 || (got < 0 && errno != EINTR))
            program_has_ended(tool->name);
        if (got > 0) {
            held.length += (size_t)got;
            take_files(job, &held);
        }
    }
}

int main(int count, char **arguments) {
    static struct nd_mjpeg job;
    const char *name = count > 1 ? arguments[1] : "ffmpeg";
    const struct tool *tool = NULL;
    nd_mjpeg_setup(&job);
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tools[i].name, name) == 0)
            tool = &tools[i];
    if (tool == NULL)
        nd_failed("unknown program %s", name);
    job.at_stop = program_end;
    nd_mjpeg_ready(&job, tool->name, program_version(tool->name, tool->version_option));
    if (job.sender)
        run_sender(&job, tool);
    run_receiver(&job, tool);
}
