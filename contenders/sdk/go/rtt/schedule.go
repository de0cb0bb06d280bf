package rtt

const second = int64(1_000_000_000)

// schedule says when the requests of all lanes are due: request n at floor(n * 10^9 / rate) ns after the first.
type schedule struct {
	rate, lanes int64
}

// paced is false in the closed loop, where nothing is ever due.
func (s schedule) paced() bool { return s.rate > 0 }

// dueNs is when request k of a lane, counted from warmup, is due after the first of all. Whole seconds are split off,
// so that no product leaves 64 bits.
func (s schedule) dueNs(lane, k int64) int64 {
	n := k*s.lanes + lane
	return n/s.rate*second + n%s.rate*second/s.rate
}
