package mjpeg

import (
	"fmt"
	"net"
)

const (
	// PacketBytesMax bounds packet_bytes.
	PacketBytesMax = 9_000

	flatOutFPS    = 30
	clockRate     = 90_000
	portsTriedMax = 1_000
)

// ClockPerFrame is how far the RTP clock goes from one frame to the next. Flat out it says 30 frames a second.
func (j *Job) ClockPerFrame() uint32 {
	fps := j.FPS
	if fps == 0 {
		fps = flatOutFPS
	}
	return uint32(clockRate / fps)
}

// Dial waits until the receiver is there, and gives a plain socket to its RTP port: for a library that has none of its own.
func (j *Job) Dial() (*net.UDPConn, error) {
	peer := &net.UDPAddr{IP: net.ParseIP(j.Peer), Port: int(j.AwaitPort())}
	return net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(j.Local)}, peer)
}

// Listen binds a plain socket at an even port, as RTP has it, and gives the port too. It has room for bufferBytes of packets, or as much as
// the system allows: a frame that comes all at once is more than the usual room.
func (j *Job) Listen(bufferBytes int) (*net.UDPConn, uint16, error) {
	for range portsTriedMax {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(j.Local)})
		if err != nil {
			return nil, 0, err
		}
		if port := conn.LocalAddr().(*net.UDPAddr).Port; port%2 == 0 {
			return conn, uint16(port), conn.SetReadBuffer(bufferBytes)
		}
		if err := conn.Close(); err != nil {
			return nil, 0, err
		}
	}
	return nil, 0, fmt.Errorf("no even UDP port in %d tries", portsTriedMax)
}
