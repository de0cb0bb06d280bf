package rtt

import (
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	lowestNs          = 1
	highestNs         = 60 * second
	significantDigits = 3
	// maxShards bounds the memory of histograms with many lanes.
	maxShards = 8
)

// shard contains the histograms of some lanes. With at most maxShards lanes, its lock is never contended.
type shard struct {
	lock                       sync.Mutex
	latency, service, lateness *hdrhistogram.Histogram
}

func newShard() *shard {
	return &shard{latency: newHistogram(), service: newHistogram(), lateness: newHistogram()}
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowestNs, highestNs, significantDigits)
}

func recordNs(histogram *hdrhistogram.Histogram, ns int64) {
	_ = histogram.RecordValue(min(max(ns, lowestNs), highestNs)) // fails only for values out of range
}

// closed records an echo of the closed loop.
func (s *shard) closed(sentNs, receivedNs int64) {
	s.lock.Lock()
	recordNs(s.latency, receivedNs-sentNs)
	s.lock.Unlock()
}

// open records an echo of the open loop.
func (s *shard) open(dueNs, sentNs, receivedNs int64) {
	s.lock.Lock()
	recordNs(s.latency, receivedNs-dueNs)
	recordNs(s.service, receivedNs-sentNs)
	recordNs(s.lateness, sentNs-dueNs)
	s.lock.Unlock()
}

// encoded returns the histograms of all shards by name, in the encoding of `result`.
func encoded(shards []*shard, paced bool) (map[string]string, error) {
	sum := newShard()
	for _, one := range shards {
		one.lock.Lock()
		sum.latency.Merge(one.latency)
		sum.service.Merge(one.service)
		sum.lateness.Merge(one.lateness)
		one.lock.Unlock()
	}
	named := map[string]*hdrhistogram.Histogram{"latency": sum.latency}
	if paced {
		named["service"], named["lateness"] = sum.service, sum.lateness
	}
	texts := make(map[string]string, len(named))
	for name, histogram := range named {
		text, err := histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, err
		}
		texts[name] = string(text)
	}
	return texts, nil
}
