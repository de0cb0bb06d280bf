/* In-process GStreamer: pictures enter a pipeline by appsrc and leave one by appsink, as in its application development manual. */
#include "mjpeg.h"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <string.h>

enum {
    PORTS_TRIED_MAX = 1000,
    FLAT_OUT_FPS = 30,   /* the frame rate in caps if fps = 0 */
    HEADER_PIXELS = 2040 /* maximum size in the header of RFC 2435 */
};

/* An error of any element ends the process. */
static GstBusSyncReply on_message(GstBus *bus, GstMessage *message, gpointer unused) {
    (void)bus, (void)unused;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        GError *error;
        gchar *details;
        gst_message_parse_error(message, &error, &details);
        nd_failed("%s: %s: %.300s", GST_MESSAGE_SRC_NAME(message), error->message, details != NULL ? details : "");
    }
    return GST_BUS_PASS;
}

static GstElement *make_pipeline(gchar *description) {
    GError *error = NULL;
    GstElement *pipeline = gst_parse_launch(description, &error);
    if (error != NULL)
        nd_failed("%s: %s", description, error->message);
    g_free(description);
    GstBus *bus = gst_element_get_bus(pipeline);
    gst_bus_set_sync_handler(bus, on_message, NULL, NULL);
    gst_object_unref(bus);
    return pipeline;
}

static GstElement *element(GstElement *pipeline, const char *name) {
    return gst_bin_get_by_name(GST_BIN(pipeline), name);
}

static void play(GstElement *pipeline) {
    if (gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
        nd_failed("cannot start the pipeline");
}

/* The sending part of the pipeline. */
static gchar *sending(const struct nd_mjpeg *job, uint16_t port) {
    return g_strdup_printf("rtpjpegpay name=payloader mtu=%u ! udpsink host=%s port=%u sync=%s", job->packet_bytes, job->setup.peer, port,
                           job->fps > 0 ? "true" : "false");
}

static GstPadProbeReturn on_encoded(GstPad *pad, GstPadProbeInfo *info, gpointer job) {
    (void)pad;
    nd_sender_count(job, gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info)));
    return GST_PAD_PROBE_OK;
}

static noreturn void encode_live(struct nd_mjpeg *job, uint16_t port) {
    GstElement *pipeline = make_pipeline(g_strdup_printf(
        "videotestsrc is-live=%s horizontal-speed=4 ! video/x-raw,format=I420,width=%u,height=%u,framerate=%u/1 ! jpegenc quality=%u ! %s",
        job->fps > 0 ? "true" : "false", job->width, job->height, job->fps > 0 ? job->fps : FLAT_OUT_FPS, job->quality, sending(job, port)));
    GstPad *encoded = gst_element_get_static_pad(element(pipeline, "payloader"), "sink");
    gst_pad_add_probe(encoded, GST_PAD_PROBE_TYPE_BUFFER, on_encoded, job, NULL);
    play(pipeline);
    for (;;)
        g_usleep(G_USEC_PER_SEC);
}

static noreturn void run_sender(struct nd_mjpeg *job) {
    const uint8_t *jpeg;
    size_t length;
    const uint16_t port = nd_sender_await_port(job);
    GstElement *pipeline = make_pipeline(g_strdup_printf(
        "appsrc name=pictures format=time block=true max-buffers=1 max-bytes=0 caps=image/jpeg,width=%u,height=%u,framerate=%u/1 ! %s", job->width,
        job->height, job->fps > 0 ? job->fps : FLAT_OUT_FPS, sending(job, port)));
    GstAppSrc *pictures = GST_APP_SRC(element(pipeline, "pictures"));
    play(pipeline);
    nd_sender_connected();
    while ((jpeg = nd_walk_next(job, &length)) != NULL) {
        GstBuffer *buffer = gst_buffer_new_memdup(jpeg, length);
        GST_BUFFER_PTS(buffer) = nd_walk_stream_ns(job);
        if (gst_app_src_push_buffer(pictures, buffer) != GST_FLOW_OK)
            nd_failed("the pipeline rejects a picture");
        nd_walk_sent(job, length);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    encode_live(job, port);
}

static GstFlowReturn on_sample(GstAppSink *pictures, gpointer job) {
    GstSample *sample = gst_app_sink_pull_sample(pictures);
    GstMapInfo map;
    if (sample == NULL)
        return GST_FLOW_EOS;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ))
        nd_failed("cannot map a picture");
    nd_receiver_take(job, map.data, map.size);
    gst_buffer_unmap(buffer, &map);
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

/* With port 0, udpsrc binds any free port; repeat until the port is even. */
static gint bind_even(GstElement *socket) {
    for (int tried = 0; tried < PORTS_TRIED_MAX; tried++) {
        gint port;
        g_object_set(socket, "port", 0, NULL);
        if (gst_element_set_state(socket, GST_STATE_READY) == GST_STATE_CHANGE_FAILURE)
            nd_failed("cannot bind udpsrc");
        g_object_get(socket, "port", &port, NULL);
        if (port > 0 && port % 2 == 0)
            return port;
        gst_element_set_state(socket, GST_STATE_NULL);
    }
    nd_failed("no free even UDP port in %d attempts", PORTS_TRIED_MAX);
}

/* The caps that an SDP would specify. */
static GstCaps *stream_caps(const struct nd_mjpeg *job) {
    GstCaps *caps = gst_caps_new_simple("application/x-rtp", "media", G_TYPE_STRING, "video", "clock-rate", G_TYPE_INT, 90000, "encoding-name",
                                        G_TYPE_STRING, "JPEG", "payload", G_TYPE_INT, 26, NULL);
    if (job->width > HEADER_PIXELS || job->height > HEADER_PIXELS) {
        gchar *size = g_strdup_printf("%u,%u", job->width, job->height);
        gst_caps_set_simple(caps, "x-dimensions", G_TYPE_STRING, size, NULL);
        g_free(size);
    }
    return caps;
}

static noreturn void run_receiver(struct nd_mjpeg *job) {
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    const uint64_t created_ns = nd_now_ns();
    GstElement *pipeline = make_pipeline(g_strdup_printf("udpsrc name=socket address=%s ! rtpjpegdepay ! appsink name=pictures sync=false", job->setup.local));
    GstElement *socket = element(pipeline, "socket");
    GstCaps *caps = stream_caps(job);
    g_object_set(socket, "caps", caps, NULL);
    gst_caps_unref(caps);
    const gint port = bind_even(socket);
    gst_app_sink_set_callbacks(GST_APP_SINK(element(pipeline, "pictures")), &callbacks, job, NULL);
    play(pipeline);
    nd_receiver_bound((uint16_t)port, created_ns);
    for (;;)
        g_usleep(G_USEC_PER_SEC);
}

int main(void) {
    static const char *const elements[] = {"rtpjpegpay", "rtpjpegdepay", "udpsink", "udpsrc", "appsrc", "appsink", "jpegenc"};
    static struct nd_mjpeg job;
    guint major, minor, micro, nano;
    char version[64];
    nd_mjpeg_setup(&job);
    gst_init(NULL, NULL);
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (gst_element_factory_find(elements[i]) == NULL)
            nd_unsupported("GStreamer element %s is missing: apt-get install gstreamer1.0-plugins-base gstreamer1.0-plugins-good", elements[i]);
    gst_version(&major, &minor, &micro, &nano);
    snprintf(version, sizeof version, "%u.%u.%u", major, minor, micro);
    nd_mjpeg_ready(&job, "GStreamer", version);
    if (job.sender)
        run_sender(&job);
    run_receiver(&job);
}
