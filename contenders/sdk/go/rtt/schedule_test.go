package rtt

import "testing"

func TestDue(t *testing.T) {
	for _, test := range []struct{ rate, lanes, lane, k, dueNs int64 }{
		{1, 1, 0, 0, 0},
		{1, 1, 0, 3, 3_000_000_000},
		{3, 1, 0, 1, 333_333_333},
		{3, 1, 0, 2, 666_666_666},
		{3, 1, 0, 3, 1_000_000_000},
		{1000, 8, 0, 0, 0},
		{1000, 8, 7, 0, 7_000_000},
		{1000, 8, 0, 1, 8_000_000},
		{7, 2, 1, 3, 1_000_000_000},
		{1_000_000, 1000, 999, 4_199_999, 4_199_999_999_000}, // the last request of the longest trial
	} {
		plan := schedule{rate: test.rate, lanes: test.lanes}
		if dueNs := plan.dueNs(test.lane, test.k); dueNs != test.dueNs {
			t.Errorf("%+v: due at %d", test, dueNs)
		}
	}
}

func TestWaitIsNeverEarly(t *testing.T) {
	for _, sleeps := range []bool{false, true} {
		lane := newTestPing(1000, 1).lanes[0]
		lane.ping.sleeps = sleeps
		lane.ping.beganNs = NowNs()
		lane.sequence = verifyMessages + 1
		lane.Next()
		if sentNs := lane.Wait(); lane.dueNs != lane.ping.beganNs+1_000_000 || sentNs < lane.dueNs || sentNs > NowNs() {
			t.Errorf("sleeps %t: due at %d, sent at %d", sleeps, lane.dueNs, sentNs)
		}
	}
}
