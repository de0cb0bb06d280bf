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

// ClockPerFrame returns the increment of the RTP timestamp per frame. Without a rate, it corresponds to 30 frames per second.
func (j *Job) ClockPerFrame() uint32 {
	fps := j.FPS
	if fps == 0 {
		fps = flatOutFPS
	}
	return uint32(clockRate / fps)
}

// Dial waits for the receiver's signal and connects a plain socket to its RTP port, for libraries without their own sockets.
func (j *Job) Dial() (*net.UDPConn, error) {
	peer := &net.UDPAddr{IP: net.ParseIP(j.Peer), Port: int(j.AwaitPort())}
	return net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(j.Local)}, peer)
}

// Listen binds a plain socket at an even port, as RTP requires, and returns the port. It requests a socket buffer of bufferBytes,
// because the packets of a whole frame exceed the default.
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
	return nil, 0, fmt.Errorf("no free even UDP port in %d attempts", portsTriedMax)
}
