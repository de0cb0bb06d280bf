// Command go-plain runs the mjpeg workload with Pion's RTP packets over Go's sockets and its own RFC 2435 implementation (rfc2435.go). With
// the argument whole-file, it is the contender go-article, which splits each JPEG file into packets unchanged (wholefile.go). With the
// further argument gst-launch, it is go-gst-launch, whose live pictures come from a child process (capture.go). All packets of a frame are
// sent at once when the frame is due.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/pion/rtp"
	"netdyno.dev/contender"
	"netdyno.dev/contender/mjpeg"
)

const (
	payloadType        = 26
	clockRate          = 90_000
	receiveBufferBytes = 1 << 20 // the default socket buffer is smaller than a frame
)

func main() {
	capture := &child{}
	if isCapturing() {
		stdin, err := capture.stopBefore(os.Stdin)
		if err != nil {
			panic(err) // there is no connection to the lab yet
		}
		os.Stdin = stdin
	}
	job := mjpeg.Begin()
	var how framing = &rfc2435{}
	if slices.Contains(os.Args, "whole-file") {
		how = &wholeFile{}
	}
	job.Ready("pion/rtp", contender.ModuleVersion("github.com/pion/rtp"))
	var err error
	if job.IsSender {
		err = send(job, how, capture)
	} else {
		err = receive(job, how)
	}
	if err != nil {
		job.Lab.Failed(err.Error())
	}
	select {} // the SDK ends the process
}

func isCapturing() bool { return slices.Contains(os.Args, "gst-launch") }

// sender is one RTP stream over a socket.
type sender struct {
	conn       *net.UDPConn
	capture    *child
	packetizer rtp.Packetizer
	samples    uint32 // RTP timestamp increment per frame
	packet     [mjpeg.PacketBytesMax]byte
}

func send(job *mjpeg.Job, how framing, capture *child) error {
	conn, err := job.Dial()
	if err != nil {
		return err
	}
	s := sender{conn: conn, capture: capture, samples: job.ClockPerFrame()}
	s.packetizer = rtp.NewPacketizer(uint16(job.PacketBytes), payloadType, rand.Uint32(), how, rtp.NewRandomSequencer(), clockRate)
	job.Connected()
	for jpeg, ok := job.Next(); ok; jpeg, ok = job.Next() {
		job.AwaitDue()
		if err := how.check(jpeg); err != nil {
			return fmt.Errorf("cannot send a picture: %w", err)
		}
		if err := s.sendFrame(jpeg); err != nil {
			return err
		}
		job.Sent(len(jpeg))
	}
	if isCapturing() {
		return s.sendCaptured(job)
	}
	return s.sendLive(job)
}

func (s *sender) sendFrame(jpeg []byte) error {
	for _, packet := range s.packetizer.Packetize(jpeg, s.samples) {
		length, err := packet.MarshalTo(s.packet[:])
		if err != nil {
			return err
		}
		// A receiver that has ended is not an error.
		if _, err := s.conn.Write(s.packet[:length]); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
	}
	return nil
}

func receive(job *mjpeg.Job, how framing) error {
	createdNs := contender.NowNs()
	conn, port, err := job.Listen(receiveBufferBytes)
	if err != nil {
		return err
	}
	job.Bound(port, createdNs)
	var packet rtp.Packet
	buffer := make([]byte, mjpeg.PacketBytesMax)
	for {
		length, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		if packet.Unmarshal(buffer[:length]) != nil || packet.PayloadType != payloadType {
			continue
		}
		if jpeg := how.take(&packet); jpeg != nil {
			job.Take(jpeg)
		}
	}
}
