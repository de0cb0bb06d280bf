// Package rtt supports contenders of the rtt workload: the lanes of ping with their schedule, counters and histograms
// (ping.go, lane.go, schedule.go, histogram.go), the counters of pong (pong.go), and the background tasks of both
// (tasks.go). It opens no sockets. It is a separate module, so that contenders of other workloads do not need its
// dependency.
//
// A lane is used by one goroutine, which runs this loop:
//
//	request := lane.Next()       // waits for verify, and after it for warmup
//	sentNs := lane.Wait()        // waits until the request is due
//	...send the request...
//	lane.Sent(sentNs)
//	...receive an echo...
//	done, err := lane.Take(echo, rtt.NowNs())
//
// The goroutine continues to receive until done is true or lane.Lost(rtt.NowNs()) returns true.
package rtt
