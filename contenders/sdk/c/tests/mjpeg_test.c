/* The test vector that all SDKs share, and the receiver's counters. */
#include "../mjpeg.h"
#include "check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct nd_json *vector;

static uint8_t *bytes_of(const char *hex, size_t *length) {
    *length = strlen(hex) / 2;
    uint8_t *bytes = malloc(*length + 1);
    for (size_t i = 0; i < *length; i++)
        sscanf(hex + 2 * i, "%2hhx", &bytes[i]);
    return bytes;
}

static const char *hex_of(const uint8_t *bytes, size_t length) {
    static char text[2 * ND_DIGEST_BYTES + 1];
    for (size_t i = 0; i < length; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

static const char *open_bytes(struct nd_clip *clip, const uint8_t *bytes, size_t length) {
    char path[64];
    const int fd = memfd_create("clip", 0);
    CHECK(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "memfd_create");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *why = nd_clip_open(clip, path);
    close(fd);
    return why;
}

static void open_vector(struct nd_clip *clip) {
    size_t length;
    uint8_t *bytes = bytes_of(nd_json_text(nd_json_get(vector, "clip")), &length);
    const char *why = open_bytes(clip, bytes, length);
    CHECK(why == NULL && clip->count == 3, "%s", why);
    free(bytes);
}

static void the_clips_canonical_forms_are_what_the_lab_expects(void) {
    struct nd_clip clip;
    uint8_t digest[ND_DIGEST_BYTES] = {0};
    size_t total = 0, length;
    open_vector(&clip);
    for (size_t i = 0; i < clip.count; i++) {
        struct nd_picture picture;
        const uint8_t *jpeg = nd_clip_read(&clip, i);
        CHECK(nd_picture_parse(&picture, jpeg, clip.frames[i].length) == NULL, "frame %zu", i);
        uint8_t *form = nd_picture_canonical(&picture, jpeg, clip.frames[i].length, &length);
        nd_digest_add(digest, form, length);
        total += length;
        free(form);
    }
    CHECK(strcmp(hex_of(digest, sizeof digest), nd_json_text(nd_json_get(vector, "digest"))) == 0, "%s", hex_of(digest, 32));
    CHECK((int64_t)total == nd_json_integer(nd_json_get(vector, "bytes")), "%zu", total);
}

static void check_case(struct nd_clip *clip, const struct nd_json *one) {
    const char *name = nd_json_text(nd_json_get(one, "name"));
    const char *wanted = nd_json_text(nd_json_get(one, "canonical"));
    const struct nd_json *frame = nd_json_get(one, "frame");
    struct nd_picture picture;
    uint8_t hash[ND_DIGEST_BYTES];
    size_t length, form_length;
    uint8_t *jpeg = bytes_of(nd_json_text(nd_json_get(one, "jpeg")), &length);
    const char *why = nd_picture_parse(&picture, jpeg, length);
    CHECK((why == NULL) == (wanted != NULL), "%s: %s", name, why ? why : "not rejected");
    if (why == NULL) {
        uint8_t *form = nd_picture_canonical(&picture, jpeg, length, &form_length);
        nd_sha256(form, form_length, hash);
        free(form);
        CHECK(strcmp(hex_of(hash, sizeof hash), wanted) == 0, "%s: %s", name, hex_of(hash, sizeof hash));
        for (size_t likely = 0; likely < clip->count; likely++) {
            const ssize_t found = nd_clip_find(clip, &picture, jpeg, length, likely);
            CHECK(found == (nd_json_is(frame, ND_JSON_NULL) ? -1 : (ssize_t)nd_json_integer(frame)), "%s: frame %zd", name, found);
        }
    }
    for (size_t end = 0; end < length; end++) {
        uint8_t *cut = memcpy(malloc(end + 1), jpeg, end); /* a separate allocation, for the sanitizers */
        if (nd_picture_parse(&picture, cut, end) == NULL)
            CHECK(nd_picture_scan_end(&picture, cut, end) <= end, "%s cut at %zu", name, end);
        free(cut);
    }
    free(jpeg);
}

static void pictures_are_told_apart(void) {
    struct nd_clip clip;
    size_t count = 0;
    open_vector(&clip);
    for (const struct nd_json *one = nd_json_get(vector, "cases")->first; one != NULL; one = one->next, count++)
        check_case(&clip, one);
    CHECK(count > 0, "no cases");
}

static void what_is_no_clip_is_refused(void) {
    struct nd_clip clip;
    size_t length;
    uint8_t *bytes = bytes_of(nd_json_text(nd_json_get(vector, "clip")), &length);
    CHECK(open_bytes(&clip, bytes, 0) != NULL, "empty");
    CHECK(open_bytes(&clip, bytes, length - 1) != NULL, "cut");
    CHECK(open_bytes(&clip, bytes + 1, length - 1) != NULL, "late");
    CHECK(nd_clip_open(&clip, "/nowhere/clip") != NULL, "missing");
    free(bytes);
}

/* Frames in order of arrival, the first after frame 2 -> frames, dropped. */
static void holes_are_dropped_frames(void) {
    static const struct {
        size_t order[4], count, dropped;
    } rows[] = {{{0, 1, 2, 0}, 4, 0}, {{1, 2}, 2, 1}, {{0, 2, 1}, 3, 2}, {{2}, 1, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nd_mjpeg job = {.fps = 0, .last = 2, .phase = ND_PHASE_WARMUP, .lock = PTHREAD_MUTEX_INITIALIZER};
        struct nd_clip other;
        open_vector(&job.clip);
        open_vector(&other);
        for (size_t j = 0; j < rows[i].count; j++)
            nd_receiver_take(&job, nd_clip_read(&other, rows[i].order[j]), other.frames[rows[i].order[j]].length);
        CHECK(nd_read(&job.frames) == rows[i].count && nd_read(&job.dropped) == rows[i].dropped, "row %zu", i);
        CHECK(nd_read(&job.wrong) == 0 && nd_read(&job.on_time) == 0, "row %zu", i);
        job.told = true;
        nd_receiver_take(&job, (const uint8_t *)"\xff\xd8", 2);
        CHECK(nd_read(&job.wrong) == 1, "row %zu", i);
    }
}

/* One frame per 1/fps after the first of its phase; verify has its own rate. */
static void a_frame_is_due_by_its_number(void) {
    struct nd_mjpeg job = {.fps = 100, .phase = ND_PHASE_VERIFY, .lock = PTHREAD_MUTEX_INITIALIZER};
    open_vector(&job.clip);
    for (ssize_t i = 0; i < 5; i++) {
        CHECK(nd_walk_next_frame(&job) == i % 3, "frame %zd", i);
        CHECK(nd_walk_due_ns(&job) - job.first_ns == (uint64_t)i * (ND_NS_PER_S / 30), "frame %zd", i);
        nd_walk_sent(&job, 1000);
    }
    CHECK(nd_read(&job.frames) == 0, "verify does not count");
    job.phase = ND_PHASE_MEASURE;
    for (ssize_t i = 0; i < 3; i++) {
        CHECK(nd_walk_next_frame(&job) == (i + 5) % 3, "frame %zd", i);
        CHECK(nd_walk_due_ns(&job) - job.first_ns == (uint64_t)i * (ND_NS_PER_S / 100), "frame %zd", i);
        nd_walk_sent(&job, 1000);
    }
    CHECK(nd_read(&job.frames) == 3 && nd_read(&job.bytes) == 3000, "counted");
    job.live = true;
    CHECK(nd_walk_next_frame(&job) == -1, "live");
}

/* A sender that feeds a pipe is ahead of its schedule: the schedule of the next phase starts later by that amount. */
static void a_streams_time_goes_on_over_phases(void) {
    const uint64_t verify_ns = ND_NS_PER_S / 30, warmup_ns = ND_NS_PER_S / 100;
    struct nd_mjpeg job = {.fps = 100, .phase = ND_PHASE_VERIFY, .lock = PTHREAD_MUTEX_INITIALIZER};
    open_vector(&job.clip);
    for (uint64_t i = 0; i < 8; i++) {
        job.phase = i < 5 ? ND_PHASE_VERIFY : ND_PHASE_WARMUP;
        nd_walk_next_frame(&job);
        const uint64_t wanted = i < 5 ? i * verify_ns : 5 * verify_ns + (i - 5) * warmup_ns, got = nd_walk_stream_ns(&job);
        CHECK(got == wanted, "frame %d: %lld", (int)i, (long long)got);
        nd_walk_sent(&job, 1000);
    }
}

int main(void) {
    static char text[1 << 18];
    const char *why;
    FILE *file = fopen("../mjpeg.json", "r");
    CHECK(file != NULL, "../mjpeg.json");
    const size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    vector = nd_json_parse(text, length, &why);
    CHECK(vector != NULL, "../mjpeg.json: %s", why);
    the_clips_canonical_forms_are_what_the_lab_expects();
    pictures_are_told_apart();
    what_is_no_clip_is_refused();
    holes_are_dropped_frames();
    a_frame_is_due_by_its_number();
    a_streams_time_goes_on_over_phases();
    return 0;
}
