package mjpeg

import (
	"errors"
	"fmt"
	"os"

	"netdyno.dev/contender"
)

// inbox is the state of the receiving goroutine.
type inbox struct {
	// State of verify.
	seen            []bool
	digest          contender.Digest
	messages, bytes uint64

	last   int // the last frame; -1 if there is none
	lastNs int64
	told   bool
}

// Bound reports that RTP is bound at this port. createdNs is the contender.NowNs right before creating the library's receiver.
func (j *Job) Bound(port uint16, createdNs uint64) {
	j.Lab.Connected([]uint64{contender.NowNs() - createdNs})
	j.Lab.Signal("sender", map[string]uint16{"port": port})
}

// Take checks a picture (one JPEG file) that the library has just delivered.
func (j *Job) Take(jpeg []byte) {
	atNs := nowNs()
	counts := false
	j.until(func() bool {
		counts = j.phase == "warmup" || j.phase == "measure"
		return true
	})
	err := j.judge(jpeg, atNs, counts)
	if err == nil {
		return
	}
	err = fmt.Errorf("picture of %d bytes after frame %d: %w", len(jpeg), j.inbox.last, err)
	if !counts {
		j.Lab.Failed("verify: " + err.Error())
	}
	j.wrong.Add(1)
	if !j.inbox.told {
		fmt.Fprintln(os.Stderr, err)
	}
	j.inbox.told = true
}

// judge returns an error if a picture is wrong.
func (j *Job) judge(jpeg []byte, atNs int64, counts bool) error {
	picture, err := Parse(jpeg)
	if err != nil {
		return err
	}
	if counts && j.Live {
		if int(picture.Width) != j.Width || int(picture.Height) != j.Height {
			return fmt.Errorf("wrong size of %dx%d pixels", picture.Width, picture.Height)
		}
		j.count(0, len(jpeg)-picture.ScanAt, atNs)
		return nil
	}
	frame, err := j.clip.Find(picture, jpeg, (j.inbox.last+1)%j.clip.Frames())
	if err != nil {
		return fmt.Errorf("the clip: %w", err)
	}
	if frame < 0 {
		return errors.New("its scan is not in the clip")
	}
	if counts {
		j.count(frame, j.clip.frames[frame].scanBytes, atNs)
		return nil
	}
	j.inbox.last, j.inbox.lastNs = frame, atNs
	return j.verify(frame, picture, jpeg)
}

func (j *Job) verify(frame int, picture *Picture, jpeg []byte) error {
	in := &j.inbox
	if in.seen[frame] {
		return nil
	}
	form := picture.Canonical(jpeg)
	if form == nil {
		return errors.New("missing quantisation table")
	}
	in.seen[frame] = true
	in.digest.Add(form)
	in.messages++
	in.bytes += uint64(len(form))
	if in.messages == uint64(len(in.seen)) {
		// The other role may have learnt of the phase first.
		j.until(func() bool { return j.phase != "" })
		j.Lab.Signal("sender", map[string]uint64{"have": in.messages})
		j.Lab.Verified(in.digest, in.messages, in.bytes)
	}
	return nil
}

// count counts a complete and equal frame after verify.
func (j *Job) count(frame, scanBytes int, atNs int64) {
	before, beforeNs := j.inbox.last, j.inbox.lastNs
	j.inbox.last, j.inbox.lastNs = frame, atNs
	if before >= 0 {
		if !j.Live {
			j.dropped.Add(uint64((frame + 2*j.clip.Frames() - before - 1) % j.clip.Frames()))
		}
		j.time(atNs, beforeNs)
	}
	j.bytes.Add(uint64(scanBytes))
	j.frames.Add(1)
}

// time records an interval.
func (j *Job) time(atNs, beforeNs int64) {
	if j.FPS == 0 {
		return
	}
	nominal := int64(1_000_000_000 / j.FPS)
	off := max(atNs-beforeNs-nominal, nominal-(atNs-beforeNs))
	if off <= nominal/2 {
		j.onTime.Add(1)
	}
	// Before measure, the difference wraps around to a value beyond the window.
	if uint64(atNs-j.measureNs.Load()) < uint64(j.Seconds*1e9) {
		j.jitterLock.Lock()
		_ = j.jitter.RecordValue(min(max(off, lowestNs), highestNs)) // fails only for values out of range
		j.jitterLock.Unlock()
	}
}
