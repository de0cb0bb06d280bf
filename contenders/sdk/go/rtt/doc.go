// Package rtt is what every contender of the rtt workload needs beside its sockets: the lanes of ping with their
// schedule, books and histograms (ping.go, lane.go, schedule.go, histogram.go), the counters of pong (pong.go), and the
// background tasks of both (tasks.go). It opens no socket. It is a module of its own, so that contenders of other
// workloads do without its dependency.
//
// A lane is used by one goroutine, which does for ever:
//
//	request := lane.Next()       // waits for verify, and after it for warmup
//	sentNs := lane.Wait()        // until the request is due
//	...send the request...
//	lane.Sent(sentNs)
//	...receive an echo...
//	done, err := lane.Take(echo, rtt.NowNs())
//
// and receives again until done, or until lane.Lost(rtt.NowNs()).
package rtt
