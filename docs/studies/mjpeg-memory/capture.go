package main

/*
#cgo pkg-config: gstreamer-app-1.0
#include <gst/app/gstappsink.h>

// Starts a pipeline and gets its appsink named sink. Returns NULL and the reason on failure.
static GstElement *play(const char *description, GstAppSink **sink, char **why) {
	GError *error = NULL;
	GstElement *pipeline = gst_parse_launch(description, &error);
	if (error != NULL) {
		*why = error->message;
		return NULL;
	}
	*sink = GST_APP_SINK(gst_bin_get_by_name(GST_BIN(pipeline), "sink"));
	if (gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
		*why = "cannot start";
		return NULL;
	}
	return pipeline;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// capture generates and encodes pictures with GStreamer in this process.
type capture struct{ sink *C.GstAppSink }

func newCapture(width, height, fps, quality int) (*capture, error) {
	description := C.CString(fmt.Sprintf("videotestsrc is-live=true ! video/x-raw,format=I420,width=%d,height=%d,framerate=%d/1"+
		" ! jpegenc quality=%d ! appsink name=sink sync=false", width, height, fps, quality))
	defer C.free(unsafe.Pointer(description))
	C.gst_init(nil, nil)
	var c capture
	var why *C.char
	if C.play(description, &c.sink, &why) == nil {
		return nil, fmt.Errorf("the pipeline: %s; are GStreamer's base and good plug-ins installed?", C.GoString(why))
	}
	return &c, nil
}

// next waits for a picture and returns a copy of its JPEG file in Go's memory.
func (c *capture) next() ([]byte, error) {
	sample := C.gst_app_sink_pull_sample(c.sink)
	if sample == nil {
		return nil, errors.New("the pipeline has ended")
	}
	defer C.gst_sample_unref(sample)
	buffer := C.gst_sample_get_buffer(sample)
	var view C.GstMapInfo
	if C.gst_buffer_map(buffer, &view, C.GST_MAP_READ) == 0 {
		return nil, errors.New("cannot read a picture")
	}
	defer C.gst_buffer_unmap(buffer, &view)
	return C.GoBytes(unsafe.Pointer(view.data), C.int(view.size)), nil
}
