// Package echonet is what every contender of the echonet workload needs beside its library: the twelve reads and what their values
// must be (reads.go), the closed loop with its books (controller.go, books.go), and the values of the device (device.go). It opens no
// socket. It is a module of its own, so that contenders of other workloads do without its dependency.
//
// A library whose call gives the value of a property is a Library: `outstanding` goroutines call it. One that sends and receives
// by itself is a Runner too:
//
//	n := books.Next()            // read n % len(Reads) is to be sent
//	sentNs := NowNs()
//	...send it, receive an answer...
//	books.Took(n, value, sentNs, NowNs())
package echonet
