// Package echonet is what every contender of the echonet workload needs beside its library: the twelve reads and what their values
// must be (reads.go), the closed loop with its books (controller.go,
// books.go, underway.go), and the values of the device (device.go). It opens no
// socket. It is a module of its own, so that contenders of other workloads do without its dependency.
//
// A library whose call gives the value of a property is a Library: `outstanding` goroutines call it. One that sends and receives
// by itself is a Runner, and does for ever:
//
//	for tid, read, ok := reads.Next(); ok; tid, read, ok = reads.Next() {
//		reads.Sent(tid, NowNs())
//		...send it...
//	}
//	...receive an answer, for LookNs at the longest...
//	reads.Answered(tid, value, NowNs()) // or reads.Look(NowNs())
package echonet
