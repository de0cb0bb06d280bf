package rtt

import "time"

// epoch is when this process began to count: readings of NowNs are only ever compared with each other.
var epoch = time.Now()

// NowNs is the monotonic clock by its cheapest reading in Go, one call of the vDSO; contender.NowNs is a system call.
func NowNs() int64 { return int64(time.Since(epoch)) }

// At is the time of such a reading, for calls that take a deadline.
func At(ns int64) time.Time { return epoch.Add(time.Duration(ns)) }
