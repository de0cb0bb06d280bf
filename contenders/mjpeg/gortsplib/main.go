// Command gortsplib is the mjpeg workload by gortsplib's encoder and decoder of RTP/M-JPEG packets over plain UDP sockets: without RTSP, which
// the workload does not have. The packets of a frame go out one after the other, once it is due.
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
	receiveBufferBytes = 0x80000 // what gortsplib's own sockets ask for
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
			return fmt.Errorf("a picture cannot be sent: %w", err)
		}
		for _, packet := range packets {
			packet.Timestamp = timestamp // which the encoder leaves to its user
			length, err := packet.MarshalTo(buffer[:])
			if err != nil {
				return err
			}
			// A receiver that has gone is nothing to a sender.
			if _, err := conn.Write(buffer[:length]); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
				return err
			}
		}
		job.Sent(len(jpeg))
		timestamp += job.ClockPerFrame()
	}
	return errors.New("it encodes no pictures")
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
		buffer := make([]byte, mjpeg.PacketBytesMax) // the decoder keeps it until the frame is whole
		length, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		var packet rtp.Packet
		if packet.Unmarshal(buffer[:length]) != nil {
			continue
		}
		// Its errors are packets that are missing, and that more are to come.
		if jpeg, err := decoder.Decode(&packet); err == nil {
			job.Take(jpeg)
		}
	}
}
