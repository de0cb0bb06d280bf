package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"netdyno.dev/contender/mjpeg"
)

const (
	capturedMax = 5  // pictures that wait for being forwarded
	queuedMax   = 10 // pictures that wait for being sent
	flatOutFPS  = 30
)

// sendCaptured sends the pictures of a child process with GStreamer until it is stopped. Like the published program, it reads its
// output byte by byte, and drops pictures if a queue is full.
func (s *sender) sendCaptured(job *mjpeg.Job) error {
	command := exec.Command("gst-launch-1.0", append([]string{"-q"}, strings.Fields(pipeline(job))...)...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if hasStarted, err := s.capture.start(command); err != nil || !hasStarted {
		return err
	}
	captured, queued, ended := make(chan []byte, capturedMax), make(chan []byte, queuedMax), make(chan error, 1)
	go func() {
		ended <- split(output, captured)
		close(captured)
	}()
	go func() {
		for jpeg := range captured {
			offer(queued, jpeg)
		}
		close(queued)
	}()
	for jpeg := range queued {
		if err := s.sendFrame(jpeg); err != nil {
			return err
		}
		job.Count(len(jpeg))
	}
	if s.capture.hasStopped() {
		return nil
	}
	return fmt.Errorf("gst-launch-1.0 ended: %w", <-ended)
}

// pipeline describes a camera's pipeline with a test picture instead of the camera.
func pipeline(job *mjpeg.Job) string {
	fps, isLive := job.FPS, true
	if fps == 0 {
		fps, isLive = flatOutFPS, false
	}
	return fmt.Sprintf("videotestsrc is-live=%t ! video/x-raw,format=I420,width=%d,height=%d,framerate=%d/1"+
		" ! queue max-size-buffers=2 max-size-time=0 max-size-bytes=0 leaky=downstream ! videoconvert ! jpegenc quality=%d ! fdsink fd=1",
		isLive, job.Width, job.Height, fps, job.Quality)
}

// split finds the pictures in a stream by their first and last markers, and offers a copy of each.
func split(stream io.Reader, pictures chan<- []byte) error {
	reader := bufio.NewReader(stream)
	var file []byte
	for {
		next, err := reader.ReadByte()
		if err != nil {
			return err
		}
		if len(file) > fileBytesMax {
			return fmt.Errorf("a picture has more than %d bytes", fileBytesMax)
		}
		file = append(file, next)
		last := len(file) - 1
		switch {
		case last == 0 && next != 0xFF, last == 1 && next != soi:
			file = file[:0]
		case last > 1 && file[last-1] == 0xFF && next == eoi:
			offer(pictures, slices.Clone(file))
			file = file[:0]
		}
	}
}

// offer drops the picture if the queue is full.
func offer(queue chan<- []byte, jpeg []byte) {
	select {
	case queue <- jpeg:
	default:
	}
}
