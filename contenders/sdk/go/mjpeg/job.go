package mjpeg

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"netdyno.dev/contender"
)

const (
	lowestNs          = 1
	highestNs         = 60_000_000_000
	significantDigits = 3

	maxVerifyFPS = 30 // frames per second in verify
)

// Params contains the parameters of the workload.
type Params struct {
	Width       int     `json:"width"`
	Height      int     `json:"height"`
	Quality     int     `json:"quality"`
	FPS         uint64  `json:"fps"` // 0: as fast as possible
	PacketBytes int     `json:"packet_bytes"`
	ClipFrames  int     `json:"clip_frames"`
	Source      string  `json:"source"`
	Seconds     float64 `json:"seconds"`
}

// Job is the role of this process, with its counters.
type Job struct {
	Params
	Lab         *contender.Lab
	Local, Peer string
	IsSender    bool
	Live        bool // the sender generates the pictures after verify

	clip                                  *Clip
	frames, bytes, wrong, dropped, onTime atomic.Uint64 // bytes: for the receiver, those of scans
	measureNs                             atomic.Int64
	lock                                  sync.Mutex
	changed                               *sync.Cond
	phase                                 string
	port                                  uint16
	have                                  bool
	walk                                  walk
	inbox                                 inbox
	jitterLock                            sync.Mutex
	jitter                                *hdrhistogram.Histogram
}

var epoch = time.Now()

func nowNs() int64 { return int64(time.Since(epoch)) }

// Begin reads the setup. An unsupported one ends the process.
func Begin() *Job {
	lab, setup := contender.Connect()
	if setup.Workload != "mjpeg" || (setup.Role != "sender" && setup.Role != "receiver") {
		lab.Unsupported(fmt.Sprintf("workload %q, role %q", setup.Workload, setup.Role))
	}
	job, err := newJob(lab, setup)
	if err != nil {
		lab.Failed(err.Error())
	}
	return job
}

func newJob(lab *contender.Lab, setup contender.Setup) (*Job, error) {
	job := &Job{Lab: lab, Local: setup.Local, Peer: setup.Peer, IsSender: setup.Role == "sender"}
	if err := json.Unmarshal(setup.Params, &job.Params); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	clip, err := OpenClip(setup.Inputs["clip"])
	if err != nil {
		return nil, fmt.Errorf("the clip: %w", err)
	}
	if clip.Frames() != job.ClipFrames {
		return nil, fmt.Errorf("the clip has %d frames, expected %d", clip.Frames(), job.ClipFrames)
	}
	job.clip, job.Live = clip, job.Source == "live"
	job.changed = sync.NewCond(&job.lock)
	job.measureNs.Store(math.MaxInt64)
	job.inbox = inbox{seen: make([]bool, clip.Frames()), last: -1}
	job.jitter = hdrhistogram.New(lowestNs, highestNs, significantDigits)
	return job, nil
}

// Ready reports the library under test and starts a goroutine that answers the lab.
func (j *Job) Ready(name, version string) {
	j.Lab.Ready(name, version)
	go func() {
		for {
			event := j.Lab.Next()
			if _, last := event.(contender.Stop); last {
				j.result()
				os.Exit(0)
			}
			j.handle(event)
		}
	}()
}

func (j *Job) handle(event contender.Event) {
	switch event := event.(type) {
	case contender.Mark:
		j.Lab.Counters(event, j.values())
	case contender.Start:
		if event.Phase == "measure" {
			j.measureNs.Store(nowNs())
		}
		j.change(func() { j.phase = event.Phase })
	case contender.Signal:
		var body struct{ Port, Have uint16 }
		if err := json.Unmarshal(event.Body, &body); err != nil {
			j.Lab.Failed("signal: " + err.Error())
		}
		j.change(func() {
			if body.Port > 0 {
				j.port = body.Port
			}
			j.have = j.have || body.Have > 0
		})
	}
}

func (j *Job) change(how func()) {
	j.lock.Lock()
	defer j.lock.Unlock()
	how()
	j.changed.Broadcast()
}

// until waits until a condition is true. It evaluates the condition under the lock.
func (j *Job) until(so func() bool) {
	j.lock.Lock()
	defer j.lock.Unlock()
	for !so() {
		j.changed.Wait()
	}
}

func (j *Job) values() contender.Values {
	frames := j.frames.Load()
	if j.IsSender {
		return contender.Values{"frames": frames, "bytes": j.bytes.Load()}
	}
	return contender.Values{
		"frames": frames, "scan_bytes": j.bytes.Load(), "wrong": j.wrong.Load(), "dropped": j.dropped.Load(), "on_time": j.onTime.Load(),
	}
}

func (j *Job) result() {
	histograms := map[string]string{}
	if !j.IsSender && j.FPS > 0 {
		j.jitterLock.Lock()
		text, err := j.jitter.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		j.jitterLock.Unlock()
		if err != nil {
			j.Lab.Failed("histogram: " + err.Error())
		}
		histograms["jitter"] = string(text)
	}
	j.Lab.Result(j.values(), histograms)
}
