package mjpeg

import "time"

// walk is the state of the sending goroutine: its iteration over the clip.
type walk struct {
	next        int // the next frame
	phase       string
	first       time.Time // start of the schedule, and the number of frames sent before it
	sent, begun int64
}

// AwaitPort waits for the receiver's signal and returns its RTP port.
func (j *Job) AwaitPort() uint16 {
	j.until(func() bool { return j.port > 0 })
	return j.port
}

// Connected reports that the library's sender was created.
func (j *Job) Connected() { j.Lab.Connected([]uint64{}) }

// Next returns the next frame (one JPEG file), which is valid until the next call. It waits for the phase. ok is false after
// verify if the sender generates the pictures from then on.
func (j *Job) Next() (jpeg []byte, ok bool) {
	phase := ""
	// Verify lasts until the receiver has all frames. Nothing is sent between verify and the next phase.
	j.until(func() bool {
		phase = j.phase
		return phase != "" && (phase != "verify" || !j.have)
	})
	if phase == "measure" {
		phase = "warmup" // a sender does not distinguish the two
	}
	if phase != "verify" && j.Live {
		return nil, false
	}
	if j.walk.phase != phase {
		j.walk.phase, j.walk.first, j.walk.begun = phase, time.Now(), j.walk.sent
	}
	jpeg, err := j.clip.Read(j.walk.next)
	if err != nil {
		j.Lab.Failed("the clip: " + err.Error())
	}
	j.walk.next = (j.walk.next + 1) % j.clip.Frames()
	return jpeg, true
}

// Interval returns the interval between frames in the current phase; 0: as fast as possible.
func (j *Job) Interval() time.Duration {
	fps := j.FPS
	if j.walk.phase == "verify" && (fps == 0 || fps > maxVerifyFPS) {
		fps = maxVerifyFPS
	}
	if fps == 0 {
		return 0
	}
	return time.Second / time.Duration(fps)
}

// Due returns when the current frame is due: at once if there is no interval.
func (j *Job) Due() time.Time {
	return j.walk.first.Add(j.Interval() * time.Duration(j.walk.sent-j.walk.begun))
}

// AwaitDue sleeps until the current frame is due.
func (j *Job) AwaitDue() { time.Sleep(time.Until(j.Due())) }

// Sent reports that the frame was handed to the network.
func (j *Job) Sent(length int) {
	j.walk.sent++
	if j.walk.phase != "verify" {
		j.Count(length)
	}
}

// Count does the same for a live picture.
func (j *Job) Count(length int) {
	j.bytes.Add(uint64(length))
	j.frames.Add(1)
}
