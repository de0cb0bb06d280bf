package rtt

const second = int64(1_000_000_000)

// schedule computes when the requests of all lanes are due: request n at floor(n * 10^9 / rate) ns after the first.
type schedule struct {
	rate, lanes int64
}

// paced is false in the closed loop, whose requests are not scheduled.
func (s schedule) paced() bool { return s.rate > 0 }

// dueNs returns when request k of a lane, counted from warmup, is due, relative to the first request of all lanes. Whole
// seconds are computed separately to avoid overflow.
func (s schedule) dueNs(lane, k int64) int64 {
	n := k*s.lanes + lane
	return n/s.rate*second + n%s.rate*second/s.rate
}
