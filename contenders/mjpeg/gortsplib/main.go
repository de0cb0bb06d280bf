// Command gortsplib runs the mjpeg workload with gortsplib's RTP/M-JPEG encoder and decoder over plain UDP sockets. The workload has no RTSP.
// All packets of a frame are sent at once when the frame is due.
package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
	"netdyno.dev/contender"
	"netdyno.dev/contender/mjpeg"
)

const (
	headerBytes        = 12      // of RTP, without extensions
	receiveBufferBytes = 0x80000 // as in gortsplib's own receivers
)

func main() {
	job := mjpeg.Begin()
	job.Ready("gortsplib", contender.ModuleVersion("github.com/bluenviron/gortsplib/v5"))
	run := receive
	if job.IsSender {
		run = send
	}
	if err := run(job); err != nil {
		job.Lab.Failed(err.Error())
	}
}

func send(job *mjpeg.Job) error {
	conn, err := job.Dial()
	if err != nil {
		return err
	}
	stream := &format.MJPEG{}
	encoder, err := stream.CreateEncoder()
	if err != nil {
		return err
	}
	encoder.PayloadMaxSize = job.PacketBytes - headerBytes
	job.Connected()
	var timestamp uint32
	var buffer [mjpeg.PacketBytesMax]byte
	for jpeg, ok := job.Next(); ok; jpeg, ok = job.Next() {
		job.AwaitDue()
		packets, err := encoder.Encode(jpeg)
		if err != nil {
			return fmt.Errorf("cannot send a picture: %w", err)
		}
		for _, packet := range packets {
			packet.Timestamp = timestamp // the encoder does not set it
			length, err := packet.MarshalTo(buffer[:])
			if err != nil {
				return err
			}
			// A receiver that has ended is not an error.
			if _, err := conn.Write(buffer[:length]); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
				return err
			}
		}
		job.Sent(len(jpeg))
		timestamp += job.ClockPerFrame()
	}
	return errors.New("this contender does not encode pictures")
}

func receive(job *mjpeg.Job) error {
	createdNs := contender.NowNs()
	conn, port, err := job.Listen(receiveBufferBytes)
	if err != nil {
		return err
	}
	decoder, err := (&format.MJPEG{}).CreateDecoder()
	if err != nil {
		return err
	}
	job.Bound(port, createdNs)
	for {
		buffer := make([]byte, mjpeg.PacketBytesMax) // the decoder keeps it until the frame is complete
		length, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		var packet rtp.Packet
		if packet.Unmarshal(buffer[:length]) != nil {
			continue
		}
		// Errors mean missing packets, or that the frame is incomplete.
		if jpeg, err := decoder.Decode(&packet); err == nil {
			job.Take(jpeg)
		}
	}
}
