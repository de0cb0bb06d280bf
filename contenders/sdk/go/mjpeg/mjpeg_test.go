package mjpeg

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"netdyno.dev/contender"
)

// vector is the test vector that all SDKs share.
type vector struct {
	Clip, Digest    string
	Messages, Bytes int
	Cases           []struct {
		Name, Jpeg string
		Canonical  *string
		Frame      *int
	}
}

func read(t *testing.T) (v vector) {
	text, err := os.ReadFile("../../mjpeg.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func bytesOf(t *testing.T, text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func open(t *testing.T, bytes []byte) (*Clip, error) {
	path := filepath.Join(t.TempDir(), "clip")
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	return OpenClip(path)
}

func clipOf(t *testing.T) *Clip {
	clip, err := open(t, bytesOf(t, read(t).Clip))
	if err != nil {
		t.Fatal(err)
	}
	return clip
}

func TestCanonicalFormsMatchTheVector(t *testing.T) {
	v, clip, digest, bytes := read(t), clipOf(t), contender.Digest{}, 0
	for i := range clip.Frames() {
		jpeg, _ := clip.Read(i)
		picture, err := Parse(jpeg)
		if err != nil {
			t.Fatal(err)
		}
		form := picture.Canonical(jpeg)
		digest.Add(form)
		bytes += len(form)
	}
	if digest.String() != v.Digest || clip.Frames() != v.Messages || bytes != v.Bytes {
		t.Error(digest, clip.Frames(), bytes)
	}
}

func TestPicturesAreMatchedWithFrames(t *testing.T) {
	clip := clipOf(t)
	for _, row := range read(t).Cases {
		jpeg := bytesOf(t, row.Jpeg)
		for end := range jpeg {
			if picture, err := Parse(jpeg[:end]); err == nil && picture.ScanEnd(jpeg[:end]) > end {
				t.Error(row.Name, "cut at", end)
			}
		}
		picture, err := Parse(jpeg)
		if (err == nil) != (row.Canonical != nil) {
			t.Error(row.Name, err)
		}
		if err != nil {
			continue
		}
		hash := sha256.Sum256(picture.Canonical(jpeg))
		if hex.EncodeToString(hash[:]) != *row.Canonical {
			t.Error(row.Name, "has a different canonical form")
		}
		wanted := -1
		if row.Frame != nil {
			wanted = *row.Frame
		}
		for likely := range clip.Frames() {
			if found, err := clip.Find(picture, jpeg, likely); err != nil || found != wanted {
				t.Error(row.Name, found, err)
			}
		}
	}
}

func TestInvalidClipsAreRejected(t *testing.T) {
	whole := bytesOf(t, read(t).Clip)
	for _, bytes := range [][]byte{nil, whole[:len(whole)-1], whole[1:]} {
		if _, err := open(t, bytes); err == nil {
			t.Error(len(bytes), "bytes were accepted as a clip")
		}
	}
}

func newTestJob(t *testing.T, params Params) *Job {
	job := &Job{Params: params, clip: clipOf(t), inbox: inbox{seen: make([]bool, 3), last: 2}, phase: "warmup"}
	job.changed = sync.NewCond(&job.lock)
	return job
}

func TestMissingFramesAreCountedAsDropped(t *testing.T) {
	other := clipOf(t)
	for _, row := range []struct {
		order   []int // the first after frame 2
		dropped uint64
	}{{[]int{0, 1, 2, 0}, 0}, {[]int{1, 2}, 1}, {[]int{0, 2, 1}, 2}, {[]int{2}, 2}} {
		job := newTestJob(t, Params{})
		for _, frame := range row.order {
			jpeg, _ := other.Read(frame)
			job.Take(jpeg)
		}
		if job.frames.Load() != uint64(len(row.order)) || job.dropped.Load() != row.dropped || job.wrong.Load() != 0 {
			t.Error(row, job.values())
		}
		job.inbox.told = true
		job.Take([]byte{0xFF, 0xD8})
		if job.wrong.Load() != 1 {
			t.Error(job.values())
		}
	}
}

func TestFramesAreScheduledByTheirNumber(t *testing.T) {
	job := newTestJob(t, Params{FPS: 100})
	job.phase = "verify"
	for _, row := range []struct {
		phase    string
		interval time.Duration
		counted  uint64
	}{{"verify", time.Second / 30, 0}, {"measure", time.Second / 100, 4}} {
		job.phase = row.phase
		for i := range 4 {
			if _, ok := job.Next(); !ok || job.Due().Sub(job.walk.first) != row.interval*time.Duration(i) {
				t.Error(row, i, job.Due().Sub(job.walk.first))
			}
			job.Sent(1000)
		}
		if job.frames.Load() != row.counted || job.bytes.Load() != 1000*row.counted {
			t.Error(row, job.frames.Load())
		}
	}
	if job.walk.next != 8%3 {
		t.Error(job.walk.next)
	}
	job.Live = true
	if _, ok := job.Next(); ok {
		t.Error("a live sender continues with the clip")
	}
}
