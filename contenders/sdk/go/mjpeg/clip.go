package mjpeg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	maxFrameBytes = 64 << 20
	maxFrames     = 100_000
	readBytes     = 64 << 10
)

type clipFrame struct {
	at                        int64
	length, scanAt, scanBytes int
}

// Clip is a file of concatenated JPEG files, of which only one frame at a time is in memory.
type Clip struct {
	file   *os.File
	frames []clipFrame
	buffer []byte // a frame, or the last compared scan
}

// OpenClip opens a clip and indexes its frames.
func OpenClip(path string) (*Clip, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	clip := &Clip{file: file}
	var held []byte
	for at, chunk := int64(0), make([]byte, readBytes); ; {
		frame, ok := firstFrame(held)
		for ; ok; frame, ok = firstFrame(held) {
			frame.at = at
			at += int64(frame.length)
			held = held[:copy(held, held[frame.length:])]
			clip.frames = append(clip.frames, frame)
		}
		if len(held) > maxFrameBytes || len(clip.frames) > maxFrames {
			return nil, fmt.Errorf("%s: frame %d is too long, or there are too many frames", path, len(clip.frames))
		}
		count, err := file.Read(chunk)
		held = append(held, chunk[:count]...)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	if len(held) > 0 || len(clip.frames) == 0 {
		return nil, fmt.Errorf("%s: frame %d is not a complete JPEG file", path, len(clip.frames))
	}
	longest := 0
	for _, frame := range clip.frames {
		longest = max(longest, frame.length)
	}
	clip.buffer = make([]byte, longest)
	return clip, nil
}

// firstFrame returns the frame at the start of these bytes, if it is complete.
func firstFrame(held []byte) (clipFrame, bool) {
	picture, err := Parse(held)
	if err != nil {
		return clipFrame{}, false
	}
	end := picture.ScanEnd(held)
	frame := clipFrame{length: end + 2, scanAt: picture.ScanAt, scanBytes: end - picture.ScanAt}
	return frame, bytes.HasPrefix(held[end:], []byte{0xFF, 0xD9})
}

// Frames returns the number of frames.
func (c *Clip) Frames() int { return len(c.frames) }

// Read returns a frame (one JPEG file), which is valid until the next call of a method of the clip.
func (c *Clip) Read(frame int) ([]byte, error) {
	jpeg := c.buffer[:c.frames[frame].length]
	_, err := c.file.ReadAt(jpeg, c.frames[frame].at)
	return jpeg, err
}

// Find returns the frame whose scan equals that of this picture, by comparing every byte, or -1. It tries `likely` first.
func (c *Clip) Find(picture *Picture, jpeg []byte, likely int) (int, error) {
	rest := jpeg[picture.ScanAt:]
	if same, err := c.isScan(likely, rest); same || err != nil {
		return likely, err
	}
	length := picture.ScanEnd(jpeg) - picture.ScanAt
	for i := range c.frames {
		if c.frames[i].scanBytes != length {
			continue
		}
		if same, err := c.isScan(i, rest); same || err != nil {
			return i, err
		}
	}
	return -1, nil
}

// isScan reports whether these bytes start with the frame's scan, followed by its end.
func (c *Clip) isScan(i int, rest []byte) (bool, error) {
	frame := c.frames[i]
	if len(rest) < frame.scanBytes {
		return false, nil
	}
	after := rest[frame.scanBytes:]
	if (len(after) > 0 && after[0] != 0xFF) || (len(after) > 1 && after[1] != 0xFF && after[1] != 0xD9) {
		return false, nil
	}
	scan := c.buffer[:frame.scanBytes]
	if _, err := c.file.ReadAt(scan, frame.at+int64(frame.scanAt)); err != nil {
		return false, err
	}
	return bytes.Equal(scan, rest[:frame.scanBytes]), nil
}
