// Command mjpeg-memory is the Go program of the study's first section. GStreamer generates and encodes pictures in this process (cgo). Go
// splits each JPEG file into RTP packets and sends them; no receiver is needed. At the end, it prints the memory counters of the Go runtime
// and of the system, and the statistics of the garbage collector.
//
//	go run . -seconds 10
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

const (
	payloadType = 26
	marker      = 0x80
	clockRate   = 90_000
	headerBytes = 12
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mjpeg-memory: ")
	width, height := flag.Int("width", 1920, "pixels"), flag.Int("height", 1080, "pixels")
	fps, quality := flag.Int("fps", 30, "pictures per second"), flag.Int("quality", 85, "quality of the encoder, 1 to 100")
	to := flag.String("to", "127.0.0.1:5004", "destination of the packets")
	packetBytes := flag.Int("packet-bytes", 1400, "length of a packet, including its RTP header")
	seconds := flag.Float64("seconds", 10, "duration in seconds")
	flag.Parse()
	if *fps < 1 || *packetBytes <= headerBytes {
		log.Fatal("-fps must be at least 1, and -packet-bytes more than 12, the length of a header")
	}
	conn, err := net.Dial("udp", *to)
	if err != nil {
		log.Fatalf("-to: %v", err)
	}
	pictures, err := newCapture(*width, *height, *fps, *quality)
	if err != nil {
		log.Fatal(err)
	}
	s := stream{conn: conn, packet: make([]byte, *packetBytes), step: uint32(clockRate / *fps)}
	binary.BigEndian.PutUint32(s.packet[8:], rand.Uint32())
	begun := time.Now()
	for time.Since(begun).Seconds() < *seconds {
		picture, err := pictures.next()
		if err != nil {
			log.Fatal(err)
		}
		s.send(picture)
	}
	s.tell(time.Since(begun))
}

// stream is an RTP stream whose payload is whole JPEG files.
type stream struct {
	conn            net.Conn
	packet          []byte
	sequence        uint16
	timestamp, step uint32
	frames, packets uint64
}

// send splits a file into packets. A missing receiver is not an error.
func (s *stream) send(file []byte) {
	for len(file) > 0 {
		part := copy(s.packet[headerBytes:], file)
		file = file[part:]
		s.packet[0], s.packet[1] = 0x80, payloadType
		if len(file) == 0 {
			s.packet[1] |= marker
		}
		binary.BigEndian.PutUint16(s.packet[2:], s.sequence)
		binary.BigEndian.PutUint32(s.packet[4:], s.timestamp)
		_, _ = s.conn.Write(s.packet[:headerBytes+part])
		s.sequence++
		s.packets++
	}
	s.timestamp += s.step
	s.frames++
}

// tell prints the results in the units of the study.
func (s *stream) tell(took time.Duration) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	collector := debug.GCStats{PauseQuantiles: make([]time.Duration, 3)}
	debug.ReadGCStats(&collector)
	fmt.Printf("frames/s             %.1f\n", float64(s.frames)/took.Seconds())
	fmt.Printf("packets a frame      %.1f\n", float64(s.packets)/float64(max(s.frames, 1)))
	fmt.Printf("MemStats.HeapAlloc   %.1f MB\n", float64(memory.HeapAlloc)/1e6)
	fmt.Printf("MemStats.Sys         %.1f MB\n", float64(memory.Sys)/1e6)
	for _, row := range [][3]string{{"resident (RSS)", "smaps_rollup", "Rss:"}, {"proportional (PSS)", "smaps_rollup", "Pss:"}, {"peak resident", "status", "VmHWM:"}} {
		fmt.Printf("%-20s %.1f MB\n", row[0], kilobytes(row[1], row[2])*1024/1e6)
	}
	fmt.Printf("collector            %.1f times a second, paused %v in the median, %v at the most\n",
		float64(collector.NumGC)/took.Seconds(), collector.PauseQuantiles[1], slices.Max(collector.PauseQuantiles))
}

// kilobytes reads a line of a file about this process.
func kilobytes(file, name string) float64 {
	text, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		log.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var value float64
		if rest, ok := strings.CutPrefix(string(line), name); ok {
			if _, err := fmt.Sscan(rest, &value); err == nil {
				return value
			}
		}
	}
	log.Fatalf("/proc/self/%s has no %s", file, name)
	return 0
}
