package mjpeg

import "time"

// walk is the sender's way over the clip: of the goroutine that sends.
type walk struct {
	next        int // frame
	phase       string
	first       time.Time // when the schedule began, and how many frames had been sent then
	sent, begun int64
}

// AwaitPort waits until the receiver is there, and gives its RTP port.
func (j *Job) AwaitPort() uint16 {
	j.until(func() bool { return j.port > 0 })
	return j.port
}

// Connected says that the library's sender is there.
func (j *Job) Connected() { j.Lab.Connected([]uint64{}) }

// Next gives the next frame, one JPEG file, valid until the next call. It waits until its phase has begun. Not ok once verify is over if the
// sender is to make its own pictures from then on.
func (j *Job) Next() (jpeg []byte, ok bool) {
	phase := ""
	// Verify lasts until the receiver has all; between it and what follows nothing is sent.
	j.until(func() bool {
		phase = j.phase
		return phase != "" && (phase != "verify" || !j.have)
	})
	if phase == "measure" {
		phase = "warmup" // a sender knows no difference
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

// Interval is the time from one frame to the next: that of verify while it lasts; 0: flat out.
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

// Due is when the frame that Next gave is due: at once if flat out.
func (j *Job) Due() time.Time {
	return j.walk.first.Add(j.Interval() * time.Duration(j.walk.sent-j.walk.begun))
}

// AwaitDue sleeps until then.
func (j *Job) AwaitDue() { time.Sleep(time.Until(j.Due())) }

// Sent says that the frame was handed to the network.
func (j *Job) Sent(length int) {
	j.walk.sent++
	if j.walk.phase != "verify" {
		j.Count(length)
	}
}

// Count does the same for a picture of the sender's own.
func (j *Job) Count(length int) {
	j.bytes.Add(uint64(length))
	j.frames.Add(1)
}
