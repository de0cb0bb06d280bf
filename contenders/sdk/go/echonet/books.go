package echonet

import (
	"bytes"
	"encoding/hex"
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

// Took books the answer to read n.
func (b *Books) Took(n uint64, value []byte, sentNs, receivedNs int64) {
	i := n % uint64(len(Reads))
	if !bytes.Equal(value, b.expected[i]) {
		b.refuse(fmt.Sprintf("object %06X, property %02X: %s, and %s in verify",
			Reads[i].Object, Reads[i].Property, hex.EncodeToString(value), hex.EncodeToString(b.expected[i])))
	}
	b.bytes.Add(uint64(len(value)))
	b.book(sentNs, receivedNs)
}

// Refused books an answer that says no.
func (b *Books) Refused(n uint64, sentNs, receivedNs int64) {
	read := Reads[n%uint64(len(Reads))]
	b.refuse(fmt.Sprintf("object %06X, property %02X: refused", read.Object, read.Property))
	b.book(sentNs, receivedNs)
}

// Lost books a read without an answer.
func (b *Books) Lost() { b.lost.Add(1) }

// Late books an answer to a read that was lost.
func (b *Books) Late() { b.late.Add(1) }

func (b *Books) refuse(why string) {
	b.wrong.Add(1)
	b.told.Do(func() { fmt.Fprintln(os.Stderr, why) })
}

func (b *Books) book(sentNs, receivedNs int64) {
	b.reads.Add(1)
	// Before measure the difference wraps round to beyond the window.
	if uint64(receivedNs-b.measureNs.Load()) < b.windowNs {
		b.lock.Lock()
		_ = b.latency.RecordValue(min(max(receivedNs-sentNs, lowestNs), highestNs)) // only ever refuses what is out of range
		b.lock.Unlock()
	}
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
