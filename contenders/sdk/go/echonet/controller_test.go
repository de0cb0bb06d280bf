package echonet

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"netdyno.dev/contender"
)

var errOver = errors.New("over")

// device is a library with fixed values. After the reads of verify, it returns the given answers in order, then fails.
type device struct {
	t       *testing.T
	values  map[Read]string
	reads   int
	answers []answer
}

type answer struct {
	value string
	err   error
}

func newDevice(t *testing.T) *device {
	values := map[Read]string{{Lighting, 0x80}: "30"}
	for property, value := range map[byte]string{
		0x80: "30", 0x82: "010d0100", 0x83: "fe00000b" + payload, 0x8A: "00000b", 0x9D: "0180", 0x9E: "00",
		0x9F: "0b8082838a9d9e9fd3d4d6d7", 0xD3: "000001", 0xD4: "0002", 0xD6: "01029101", 0xD7: "010291",
	} {
		values[Read{NodeProfile, property}] = value
	}
	return &device{t: t, values: values}
}

func (d *device) Find() error { return nil }

func (d *device) Read(read Read) ([]byte, error) {
	d.reads++
	if d.reads <= len(Reads) {
		return bytesOf(d.t, d.values[read]), nil
	}
	if len(d.answers) == 0 {
		return nil, errOver
	}
	next := d.answers[0]
	d.answers = d.answers[1:]
	return bytesOf(d.t, next.value), next.err
}

func TestVerify(t *testing.T) {
	library := newDevice(t)
	counters := newCounters(Params{Seconds: 1})
	if err := counters.verify(library, 1); err != nil || string(counters.payload()) != string(Payload(1)) || library.reads != len(Reads) {
		t.Error(err, library.reads)
	}
	for _, read := range Reads {
		library := newDevice(t)
		library.values[read] = "7f7f"
		if err := newCounters(Params{Seconds: 1}).verify(library, 1); err == nil {
			t.Errorf("%v was accepted", read)
		}
	}
	if newCounters(Params{Seconds: 1}).keep(0, nil, 1) == nil {
		t.Error("a refusal was accepted")
	}
}

func verifiedCounters(t *testing.T, library *device) *Counters {
	counters := newCounters(Params{Seconds: 1})
	if err := counters.verify(library, 1); err != nil {
		t.Fatal(err)
	}
	return counters
}

func expectValues(t *testing.T, counters *Counters, want contender.Values) {
	t.Helper()
	for name, value := range counters.values() {
		if value != want[name] {
			t.Errorf("%s: %d, not %d", name, value, want[name])
		}
	}
}

func TestLoop(t *testing.T) {
	library := newDevice(t)
	library.answers = []answer{{"30", nil}, {"", ErrLost}, {"fe00000b" + payload, nil}, {"", ErrRefused}, {"0181", nil}}
	counters := verifiedCounters(t, library)
	if err := counters.loop(library); !errors.Is(err, errOver) {
		t.Error(err)
	}
	expectValues(t, counters, contender.Values{"reads": 4, "bytes": 20, "wrong": 2, "lost": 1, "late": 0})
}

func TestOnlyTheWindowIsRecorded(t *testing.T) {
	for _, test := range []struct {
		measureNs, receivedNs, booked int64
	}{
		{5000, 4999, 0}, {5000, 5000, 1}, {5000, 1_000_004_999, 1}, {5000, 1_000_005_000, 0},
	} {
		counters := newCounters(Params{Seconds: 1})
		counters.measureNs.Store(test.measureNs)
		counters.answered(counters.Next(), nil, 1, test.receivedNs)
		texts, err := counters.histograms()
		if err != nil {
			t.Fatal(err)
		}
		histogram, err := hdrhistogram.Decode([]byte(texts["latency"]))
		if err != nil || histogram.TotalCount() != test.booked {
			t.Error(test, histogram, err)
		}
	}
	if counters := newCounters(Params{Seconds: 1}); uint64(NowNs()-counters.measureNs.Load()) < counters.windowNs {
		t.Error("recorded before the phase measure")
	}
}

// newReads returns the outstanding reads of a Runner after verify.
func newReads(t *testing.T, outstanding int) *Outstanding {
	role := &role{counters: verifiedCounters(t, newDevice(t)), verify: make(chan struct{}), warmup: make(chan struct{})}
	close(role.verify)
	close(role.warmup)
	reads := newOutstanding(role, Params{Outstanding: outstanding, TimeoutMs: 1000, Seconds: 1})
	reads.kept = len(Reads)
	return reads
}

func TestOutstandingReads(t *testing.T) {
	reads := newReads(t, 3)
	var tids []uint16
	for tid, read, ok := reads.Next(); ok; tid, read, ok = reads.Next() {
		if asked, found := reads.Find(tid); asked != read || !found || read != Reads[len(tids)] {
			t.Error(tid, read, asked)
		}
		reads.Sent(tid, int64(len(tids)))
		tids = append(tids, tid)
	}
	if len(tids) != 3 || tids[0] != 128 || tids[2] != 130 {
		t.Fatal(tids)
	}
	reads.Answered(tids[1], []byte{1, 13, 1, 0}, 5)
	reads.Answered(tids[1], []byte{1, 13, 1, 0}, 6) // again
	reads.Answered(7, nil, 6)
	tid, read, ok := reads.Next()
	if tid != 257 || read != Reads[3] || !ok {
		t.Error(tid, read, ok)
	}
	reads.Sent(tid, 500)
	reads.Expire(1_000_000_000) // the first is as old as a read may be
	reads.Expire(1_000_000_001)
	expectValues(t, reads.counters, contender.Values{"reads": 1, "bytes": 4, "wrong": 0, "lost": 1, "late": 2})
	reads.Answered(tids[2], nil, 7)
	expectValues(t, reads.counters, contender.Values{"reads": 2, "bytes": 4, "wrong": 1, "lost": 1, "late": 2})
	if _, ok := reads.Find(tids[0]); ok {
		t.Error("a lost read is still outstanding")
	}
}

func TestNumbersWrapAround(t *testing.T) {
	reads := newReads(t, 1)
	seen := map[uint16]bool{}
	for range turns {
		tid, _, _ := reads.Next()
		reads.Answered(tid, nil, 0)
		seen[tid] = true
	}
	if tid, _, _ := reads.Next(); tid != 128 || len(seen) != turns || seen[0] {
		t.Error(tid, len(seen))
	}
}

func TestVerifyHasOneOutstandingRead(t *testing.T) {
	reads := newReads(t, 2)
	reads.kept = 10
	if _, read, ok := reads.Next(); !ok || read != Reads[10] {
		t.Error(read, ok)
	}
	if _, _, ok := reads.Next(); ok {
		t.Error("two outstanding reads")
	}
	reads.Answered(128, bytesOf(t, "010291"), 1)
	if _, read, ok := reads.Next(); !ok || read != Reads[11] || reads.kept != 11 {
		t.Error(read, ok)
	}
}

func TestNoAllocationPerRead(t *testing.T) {
	reads := newReads(t, 1)
	reads.counters.measureNs.Store(0)
	if count := testing.AllocsPerRun(1000, func() {
		tid, _, _ := reads.Next()
		reads.Sent(tid, NowNs())
		n := reads.places[0].n % int64(len(Reads))
		reads.Answered(tid, reads.counters.expected[n], NowNs())
	}); count != 0 || reads.counters.wrong.Load() != 0 {
		t.Errorf("%v allocations per read", count)
	}
}

func TestParameters(t *testing.T) {
	check := func(name string, value any) error {
		params := map[string]any{"outstanding": 1, "timeout_ms": 2000, "seconds": 1.6, "warmup_seconds": 0.5, name: value}
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		setup := contender.Setup{Params: text, Local: "198.18.0.1", Peer: "198.18.0.2"}
		_, err = ReadParams(setup)
		return err
	}
	if err := check("later", 1); err != nil {
		t.Error(err)
	}
	for _, bad := range []struct {
		name  string
		value any
	}{
		{"outstanding", 0}, {"outstanding", 129}, {"timeout_ms", 99}, {"timeout_ms", 60_001}, {"seconds", 0.1}, {"seconds", 3601},
		{"outstanding", "x"},
	} {
		if check(bad.name, bad.value) == nil {
			t.Errorf("%s: %v was accepted", bad.name, bad.value)
		}
	}
	if _, err := ReadParams(contender.Setup{Params: []byte("{}"), Local: "x"}); err == nil {
		t.Error("a missing address was accepted")
	}
}
