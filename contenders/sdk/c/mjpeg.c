/* The common part of both roles of `mjpeg`, the sender's iteration over the clip, and the receiver's checks. */
#include "mjpeg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A time so distant that no event is within a window that starts at it. */
#define NOT_YET_NS (UINT64_C(1) << 63)

static void take_signal(void *self, const struct nd_json *body) {
    struct nd_mjpeg *job = self;
    const int64_t port = nd_json_integer(nd_json_get(body, "port"));
    if (!job->sender || port < 0 || port > UINT16_MAX)
        nd_failed("unexpected signal for this role");
    pthread_mutex_lock(&job->lock);
    if (port > 0)
        job->port = (uint16_t)port;
    job->have |= nd_json_is(nd_json_get(body, "have"), ND_JSON_INTEGER);
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
}

static void take_start(void *self, enum nd_phase phase, uint64_t at_ns) {
    struct nd_mjpeg *job = self;
    if (phase == ND_PHASE_MEASURE)
        atomic_store_explicit(&job->measure_at_ns, at_ns, memory_order_relaxed);
    pthread_mutex_lock(&job->lock);
    job->phase = phase;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
}

static size_t read_values(void *self, struct nd_value *values) {
    const struct nd_mjpeg *job = self;
    const uint64_t frames = nd_read(&job->frames);
    const struct nd_value all[] = {
        {"frames", frames}, {job->sender ? "bytes" : "scan_bytes", nd_read(&job->bytes)},
        {"wrong", nd_read(&job->wrong)}, {"dropped", nd_read(&job->dropped)}, {"on_time", nd_read(&job->on_time)},
    };
    const size_t count = job->sender ? 2 : sizeof all / sizeof *all;
    memcpy(values, all, count * sizeof *all);
    return count;
}

/* Called only at the stop. */
static size_t histograms(void *self, struct nd_encoded *encoded) {
    const struct nd_mjpeg *job = self;
    const bool has_jitter = !job->sender && job->fps > 0;
    if (job->at_stop != NULL)
        job->at_stop();
    if (has_jitter)
        encoded[0] = (struct nd_encoded){"jitter", nd_histogram_encode(job->jitter)};
    return has_jitter;
}

void nd_mjpeg_setup(struct nd_mjpeg *job) {
    memset(job, 0, sizeof *job);
    const struct nd_setup *setup = &job->setup;
    nd_connect(&job->setup);
    job->sender = strcmp(setup->role, "sender") == 0;
    if (strcmp(setup->workload, "mjpeg") != 0)
        nd_unsupported("the workload %.64s", setup->workload);
    if (!job->sender && strcmp(setup->role, "receiver") != 0)
        nd_unsupported("the role %.64s", setup->role);
    job->width = (uint32_t)nd_param_integer(setup, "width", 1, UINT16_MAX);
    job->height = (uint32_t)nd_param_integer(setup, "height", 1, UINT16_MAX);
    job->quality = (uint32_t)nd_param_integer(setup, "quality", 1, 100);
    job->fps = (uint32_t)nd_param_integer(setup, "fps", 0, 1000000);
    job->packet_bytes = (uint32_t)nd_param_integer(setup, "packet_bytes", 64, UINT16_MAX);
    job->live = strcmp(nd_param_text(setup, "source"), "live") == 0;
    job->window_ns = (uint64_t)(nd_param_number(setup, "seconds", 0.0, 1e6) * (double)ND_NS_PER_S);
    job->measure_at_ns = NOT_YET_NS;
    job->last = -1;
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->changed, NULL);
    const uint64_t frames = nd_param_integer(setup, "clip_frames", 1, ND_CLIP_FRAMES_MAX);
    const char *why = nd_clip_open(&job->clip, nd_input(setup, "clip"));
    if (why != NULL || job->clip.count != frames)
        nd_failed("the clip: %s (%zu complete frames)", why ? why : "wrong number of frames", job->clip.count);
    job->jitter = calloc(1, sizeof *job->jitter);
    job->seen = calloc(job->clip.count, sizeof *job->seen);
    if (job->jitter == NULL || job->seen == NULL)
        nd_failed("out of memory (histogram)");
}

void nd_mjpeg_ready(struct nd_mjpeg *job, const char *name, const char *version) {
    job->role = (struct nd_role){job, take_signal, take_start, read_values, histograms, NULL};
    nd_ready(name, version);
    nd_follow(&job->role);
}

/* ---- sender ---- */

uint16_t nd_sender_await_port(struct nd_mjpeg *job) {
    pthread_mutex_lock(&job->lock);
    while (job->port == 0)
        pthread_cond_wait(&job->changed, &job->lock);
    pthread_mutex_unlock(&job->lock);
    return job->port;
}

void nd_sender_connected(void) {
    nd_connected(NULL, 0);
}

/* Verify lasts until the receiver has all frames. Nothing is sent between verify and the next phase. */
ssize_t nd_walk_next_frame(struct nd_mjpeg *job) {
    pthread_mutex_lock(&job->lock);
    while (job->phase == ND_PHASE_NONE || (job->phase == ND_PHASE_VERIFY && job->have))
        pthread_cond_wait(&job->changed, &job->lock);
    const bool is_verify = job->phase == ND_PHASE_VERIFY;
    pthread_mutex_unlock(&job->lock);
    if (!is_verify && job->live)
        return -1;
    if (job->first_ns == 0 || is_verify != job->is_verify) {
        job->is_verify = is_verify;
        job->first_ns = nd_now_ns();
        job->first_sent = job->sent;
    }
    const size_t frame = job->next;
    job->next = (frame + 1) % job->clip.count;
    return (ssize_t)frame;
}

const uint8_t *nd_walk_next(struct nd_mjpeg *job, size_t *length) {
    const ssize_t frame = nd_walk_next_frame(job);
    if (frame < 0)
        return NULL;
    *length = job->clip.frames[frame].length;
    return nd_clip_read(&job->clip, (size_t)frame);
}

uint64_t nd_walk_interval_ns(const struct nd_mjpeg *job) {
    uint64_t fps = job->fps;
    if (job->is_verify && (fps == 0 || fps > ND_VERIFY_FPS_MAX))
        fps = ND_VERIFY_FPS_MAX;
    return fps > 0 ? ND_NS_PER_S / fps : 0;
}

uint64_t nd_walk_due_ns(const struct nd_mjpeg *job) {
    return job->first_ns + (job->sent - job->first_sent) * nd_walk_interval_ns(job);
}

void nd_walk_await_due(const struct nd_mjpeg *job) {
    const uint64_t due_ns = nd_walk_due_ns(job);
    const struct timespec due = {.tv_sec = (time_t)(due_ns / ND_NS_PER_S), .tv_nsec = (long)(due_ns % ND_NS_PER_S)};
    if (nd_walk_interval_ns(job) > 0)
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            ;
}

uint64_t nd_walk_stream_ns(struct nd_mjpeg *job) {
    if (job->fps == 0) {
        nd_walk_await_due(job);
        return job->sent * ND_NS_PER_S / ND_VERIFY_FPS_MAX;
    }
    /* The difference wraps around if the stream is ahead of its schedule. */
    const uint64_t due_ns = nd_walk_due_ns(job), earliest_ns = job->stream_next_ns;
    if (job->sent == 0 || (int64_t)(due_ns - job->stream_from_ns - earliest_ns) < 0)
        job->stream_from_ns = due_ns - earliest_ns;
    const uint64_t stream_ns = due_ns - job->stream_from_ns;
    job->stream_next_ns = stream_ns + nd_walk_interval_ns(job);
    return stream_ns;
}

void nd_walk_sent(struct nd_mjpeg *job, size_t length) {
    job->sent++;
    if (!job->is_verify)
        nd_sender_count(job, length);
}

void nd_sender_count(struct nd_mjpeg *job, size_t length) {
    nd_add(&job->bytes, length, false);
    nd_add(&job->frames, 1, false);
}

/* ---- receiver ---- */

void nd_receiver_bound(uint16_t port, uint64_t created_ns) {
    const uint64_t setup_ns = nd_now_ns() - created_ns;
    nd_connected(&setup_ns, 1);
    nd_signal("sender", "{\"port\":%u}", port);
}

static void verify(struct nd_mjpeg *job, size_t frame, const struct nd_picture *picture, const uint8_t *jpeg, size_t length) {
    size_t form_length;
    if (job->seen[frame])
        return;
    uint8_t *form = nd_picture_canonical(picture, jpeg, length, &form_length);
    if (form == NULL)
        nd_failed("verify: picture without a quantisation table");
    nd_digest_add(job->digest, form, form_length);
    free(form);
    job->seen[frame] = true;
    job->verified_bytes += form_length;
    if (++job->verified < job->clip.count)
        return;
    /* The other role may have learnt of the phase first. */
    pthread_mutex_lock(&job->lock);
    while (job->phase == ND_PHASE_NONE)
        pthread_cond_wait(&job->changed, &job->lock);
    pthread_mutex_unlock(&job->lock);
    nd_signal("sender", "{\"have\":%zu}", (size_t)job->verified);
    nd_verified(job->digest, job->verified, job->verified_bytes);
}

/* Counts a complete and equal frame after `verify`. */
static void count(struct nd_mjpeg *job, size_t frame, size_t scan, uint64_t at_ns) {
    if (job->last >= 0) {
        const size_t all = job->clip.count, missing = (frame + 2 * all - (size_t)job->last - 1) % all;
        nd_add(&job->dropped, job->live ? 0 : missing, false);
        if (job->fps > 0) {
            const uint64_t nominal = ND_NS_PER_S / job->fps, interval = at_ns - job->last_ns;
            const uint64_t off = interval > nominal ? interval - nominal : nominal - interval;
            nd_add(&job->on_time, off <= nominal / 2, false);
            if (at_ns - nd_read(&job->measure_at_ns) < job->window_ns)
                nd_histogram_record(job->jitter, off, false);
        }
    }
    nd_add(&job->bytes, scan, false);
    nd_add(&job->frames, 1, false);
}

/* Returns NULL, or the fault of a picture. */
static const char *judge(struct nd_mjpeg *job, const uint8_t *jpeg, size_t length, uint64_t at_ns, bool counts) {
    struct nd_picture picture;
    const char *why = nd_picture_parse(&picture, jpeg, length);
    ssize_t frame = 0;
    if (why != NULL)
        return why;
    if (counts && job->live) {
        if (picture.width != job->width || picture.height != job->height)
            return "wrong size";
    } else {
        frame = nd_clip_find(&job->clip, &picture, jpeg, length, (size_t)(job->last + 1) % job->clip.count);
        if (frame < 0)
            return "its scan is not in the clip";
    }
    if (counts)
        count(job, (size_t)frame, job->live ? length - picture.scan_at : job->clip.frames[frame].scan_length, at_ns);
    else
        verify(job, (size_t)frame, &picture, jpeg, length);
    job->last = frame;
    job->last_ns = at_ns;
    return NULL;
}

void nd_receiver_take(struct nd_mjpeg *job, const uint8_t *jpeg, size_t length) {
    const uint64_t at_ns = nd_now_ns();
    pthread_mutex_lock(&job->lock);
    const bool counts = job->phase > ND_PHASE_VERIFY;
    pthread_mutex_unlock(&job->lock);
    const char *why = judge(job, jpeg, length, at_ns, counts);
    if (why == NULL)
        return;
    if (!counts)
        nd_failed("verify: picture of %zu bytes after frame %zd: %s", length, job->last, why);
    nd_add(&job->wrong, 1, false);
    if (!job->told)
        fprintf(stderr, "picture of %zu bytes after frame %zd: %s\n", length, job->last, why);
    job->told = true;
}
