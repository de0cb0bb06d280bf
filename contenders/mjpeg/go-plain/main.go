// Command go-plain is the mjpeg workload by Pion's RTP packets over Go's sockets, with RFC 2435 written for it (rfc2435.go). With the argument
// whole-file it is go-article: each JPEG file is cut into packets as it is (wholefile.go). The packets of a frame go out one after the
// other, once it is due.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"syscall"

	"github.com/pion/rtp"
	"netdyno.dev/contender"
	"netdyno.dev/contender/mjpeg"
)

const (
	payloadType        = 26
	clockRate          = 90_000
	receiveBufferBytes = 1 << 20 // what a careful program asks for: the usual room is less than a frame
)

func main() {
	job := mjpeg.Begin()
	var how framing = &rfc2435{}
	if len(os.Args) > 1 && os.Args[1] == "whole-file" {
		how = &wholeFile{}
	}
	job.Ready("pion/rtp", contender.ModuleVersion("github.com/pion/rtp"))
	run := receive
	if job.IsSender {
		run = send
	}
	if err := run(job, how); err != nil {
		job.Lab.Failed(err.Error())
	}
}

// sender is one RTP stream over a socket.
type sender struct {
	conn       *net.UDPConn
	packetizer rtp.Packetizer
	samples    uint32 // of the clock, from one frame to the next
	packet     [mjpeg.PacketBytesMax]byte
}

func send(job *mjpeg.Job, how framing) error {
	conn, err := job.Dial()
	if err != nil {
		return err
	}
	s := sender{conn: conn, samples: job.ClockPerFrame()}
	s.packetizer = rtp.NewPacketizer(uint16(job.PacketBytes), payloadType, rand.Uint32(), how, rtp.NewRandomSequencer(), clockRate)
	job.Connected()
	for jpeg, ok := job.Next(); ok; jpeg, ok = job.Next() {
		job.AwaitDue()
		if err := how.check(jpeg); err != nil {
			return fmt.Errorf("a picture cannot be sent: %w", err)
		}
		if err := s.sendFrame(jpeg); err != nil {
			return err
		}
		job.Sent(len(jpeg))
	}
	return s.sendLive(job)
}

func (s *sender) sendFrame(jpeg []byte) error {
	for _, packet := range s.packetizer.Packetize(jpeg, s.samples) {
		length, err := packet.MarshalTo(s.packet[:])
		if err != nil {
			return err
		}
		// A receiver that has gone is nothing to a sender.
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
