// Package echonet supports contenders of the echonet workload: the twelve reads and the checks of their values (reads.go),
// the closed loop with its counters (controller.go, counters.go, outstanding.go), and the values of the device (device.go). It
// opens no sockets. It is a separate module, so that contenders of other workloads do not need its dependency.
//
// A library whose read call returns the value implements Library: `outstanding` goroutines call it. An adapter that sends
// and receives datagrams itself implements Runner, with this loop:
//
//	for tid, read, ok := reads.Next(); ok; tid, read, ok = reads.Next() {
//		reads.Sent(tid, NowNs())
//		...send it...
//	}
//	...receive an answer, for at most TickNs...
//	reads.Answered(tid, value, NowNs()) // or reads.Expire(NowNs())
package echonet
