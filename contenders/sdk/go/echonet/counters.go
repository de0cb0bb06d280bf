package echonet

import (
	"bytes"
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
)

var epoch = time.Now()

// NowNs reads the monotonic clock in the cheapest way in Go. Readings are only compared with each other.
func NowNs() int64 { return int64(time.Since(epoch)) }

// Counters contains the controller's counters and expected values. Any goroutine may use it.
type Counters struct {
	expected [len(Reads)][]byte // set in verify
	windowNs uint64

	next                            atomic.Uint64
	measureNs                       atomic.Int64 // start of measure
	reads, bytes, wrong, lost, late atomic.Uint64

	reported sync.Once
	lock     sync.Mutex // protects the histogram
	latency  *hdrhistogram.Histogram
}

func newCounters(params Params) *Counters {
	counters := &Counters{
		windowNs: uint64(params.Seconds * float64(time.Second)),
		latency:  hdrhistogram.New(lowestNs, highestNs, significantDigits),
	}
	counters.measureNs.Store(math.MaxInt64)
	return counters
}

// Next returns the number n of the next read, which is Reads[n % len(Reads)].
func (c *Counters) Next() uint64 { return c.next.Add(1) - 1 }

// answered records the answer to read n. The value is nil for a refusal.
func (c *Counters) answered(n uint64, value []byte, sentNs, receivedNs int64) {
	i := n % uint64(len(Reads))
	if value == nil || !Reads[i].same(value, c.expected[i]) {
		c.wrong.Add(1)
		c.reported.Do(func() {
			fmt.Fprintf(os.Stderr, "%v: %s, but %s in verify\n", Reads[i], textOf(value), textOf(c.expected[i]))
		})
	}
	c.bytes.Add(uint64(len(value)))
	c.reads.Add(1)
	// Before measure, the difference wraps around to a value beyond the window.
	if uint64(receivedNs-c.measureNs.Load()) < c.windowNs {
		c.lock.Lock()
		_ = c.latency.RecordValue(min(max(receivedNs-sentNs, lowestNs), highestNs)) // fails only for values out of range
		c.lock.Unlock()
	}
}

// Lost counts a read without an answer.
func (c *Counters) Lost() { c.lost.Add(1) }

// Late counts an answer to a lost read.
func (c *Counters) Late() { c.late.Add(1) }

// keep checks and stores a value of verify; nil is a refusal.
func (c *Counters) keep(i int, value []byte, seed uint64) error {
	if value == nil {
		return fmt.Errorf("%v: %w", Reads[i], ErrRefused)
	}
	if err := Reads[i].check(value, seed); err != nil {
		return err
	}
	c.expected[i] = bytes.Clone(value)
	return nil
}

// payload returns the last bytes of the identification number. Call it after verify.
func (c *Counters) payload() []byte {
	value := c.expected[identificationAt]
	return value[len(value)-payloadBytes:]
}

// values returns the counters. The bytes of an answer are counted before the answer, so they are read after it.
func (c *Counters) values() contender.Values {
	reads := c.reads.Load()
	return contender.Values{
		"reads": reads, "bytes": c.bytes.Load(), "wrong": c.wrong.Load(), "lost": c.lost.Load(), "late": c.late.Load(),
	}
}

func (c *Counters) histograms() (map[string]string, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	text, err := c.latency.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return map[string]string{"latency": string(text)}, err
}
