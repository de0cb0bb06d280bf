package rtt

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestHistogramsComeBack(t *testing.T) {
	shards := []*shard{newShard(), newShard()}
	shards[0].open(1_000, 3_000, 10_000)
	shards[1].open(5_000, 5_000, 105_000)
	shards[1].open(0, 0, 100*second) // counts as the maximum
	texts, err := encoded(shards, true)
	if err != nil || len(texts) != 3 {
		t.Fatal(texts, err)
	}
	for _, test := range []struct {
		name     string
		min, max int64
	}{
		{"latency", 9_000, highestNs}, {"service", 7_000, highestNs}, {"lateness", lowestNs, 2_000},
	} {
		histogram, err := hdrhistogram.Decode([]byte(texts[test.name]))
		if err != nil {
			t.Fatal(err)
		}
		near := func(value, wanted int64) bool { return max(value-wanted, wanted-value) <= wanted/1000 }
		if histogram.TotalCount() != 3 || !near(histogram.Min(), test.min) || !near(histogram.Max(), test.max) {
			t.Errorf("%s: %d from %d to %d", test.name, histogram.TotalCount(), histogram.Min(), histogram.Max())
		}
	}
	if texts, err = encoded(shards, false); err != nil || len(texts) != 1 || texts["latency"] == "" {
		t.Error("the closed loop must have only latency: ", texts, err)
	}
}
