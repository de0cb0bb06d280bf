package rtt

import "time"

// epoch is the origin of NowNs. Its readings are only compared with each other.
var epoch = time.Now()

// NowNs reads the monotonic clock by one call of the vDSO, the cheapest way in Go; contender.NowNs is a system call.
func NowNs() int64 { return int64(time.Since(epoch)) }

// At converts such a reading to a time, for calls with a deadline.
func At(ns int64) time.Time { return epoch.Add(time.Duration(ns)) }
