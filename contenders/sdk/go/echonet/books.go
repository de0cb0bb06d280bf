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

// NowNs is the monotonic clock by its cheapest reading in Go; readings are only ever compared with each other.
func NowNs() int64 { return int64(time.Since(epoch)) }

// Books are what controller counts, and the values that it compares with. Any goroutine may use them.
type Books struct {
	expected [len(Reads)][]byte // set in verify
	windowNs uint64

	next                            atomic.Uint64
	measureNs                       atomic.Int64 // when measure began
	reads, bytes, wrong, lost, late atomic.Uint64

	told    sync.Once
	lock    sync.Mutex // over the histogram
	latency *hdrhistogram.Histogram
}

func newBooks(params Params) *Books {
	books := &Books{
		windowNs: uint64(params.Seconds * float64(time.Second)),
		latency:  hdrhistogram.New(lowestNs, highestNs, significantDigits),
	}
	books.measureNs.Store(math.MaxInt64)
	return books
}

// Next is the number of the read to be sent: of Reads, the one at that modulo their number.
func (b *Books) Next() uint64 { return b.next.Add(1) - 1 }

// answered books the answer to read n; the value is nil of a refusal.
func (b *Books) answered(n uint64, value []byte, sentNs, receivedNs int64) {
	i := n % uint64(len(Reads))
	if value == nil || !Reads[i].same(value, b.expected[i]) {
		b.wrong.Add(1)
		b.told.Do(func() {
			fmt.Fprintf(os.Stderr, "%v: %s, and %s in verify\n", Reads[i], textOf(value), textOf(b.expected[i]))
		})
	}
	b.bytes.Add(uint64(len(value)))
	b.reads.Add(1)
	// Before measure the difference wraps round to beyond the window.
	if uint64(receivedNs-b.measureNs.Load()) < b.windowNs {
		b.lock.Lock()
		_ = b.latency.RecordValue(min(max(receivedNs-sentNs, lowestNs), highestNs)) // only ever refuses what is out of range
		b.lock.Unlock()
	}
}

// Lost books a read without an answer.
func (b *Books) Lost() { b.lost.Add(1) }

// Late books an answer to a read that was lost.
func (b *Books) Late() { b.late.Add(1) }

// keep checks a value read in verify, and keeps it; nil is a refusal.
func (b *Books) keep(i int, value []byte, seed uint64) error {
	if value == nil {
		return fmt.Errorf("%v: %w", Reads[i], ErrRefused)
	}
	if err := Reads[i].check(value, seed); err != nil {
		return err
	}
	b.expected[i] = bytes.Clone(value)
	return nil
}

// payload is what the identification number ended with, once verify is done.
func (b *Books) payload() []byte {
	value := b.expected[identificationAt]
	return value[len(value)-payloadBytes:]
}

// values are the counters. The bytes of an answer are counted before the answer, and so are read after it.
func (b *Books) values() contender.Values {
	reads := b.reads.Load()
	return contender.Values{
		"reads": reads, "bytes": b.bytes.Load(), "wrong": b.wrong.Load(), "lost": b.lost.Load(), "late": b.late.Load(),
	}
}

func (b *Books) histograms() (map[string]string, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	text, err := b.latency.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return map[string]string{"latency": string(text)}, err
}
