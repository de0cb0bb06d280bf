// Package mjpeg is what every contender of the mjpeg workload needs beside its library: what a picture is (jpeg.go), the clip
// (clip.go), the sender's walk over it (sender.go) and the receiver's books (receiver.go), and plain sockets for a library without any
// (udp.go). It is a module of its own, so that contenders of other workloads do without its dependency.
//
//	job := mjpeg.Begin()
//	job.Ready("library", "1.0.0") // the lab's lines are answered on a goroutine of their own from then on
//
// A sender: job.AwaitPort(), make the library's sender, job.Connected(). Then for ever:
//
//	for jpeg, ok := job.Next(); ok; jpeg, ok = job.Next() {
//		job.AwaitDue() // where the library does not pace frames itself, by job.Interval()
//		...send it...
//		job.Sent(len(jpeg))
//	}
//	// Only if job.Live: pictures of its own from here on, and job.Count(length) for each.
//
// A receiver: note contender.NowNs(), make and bind, job.Bound(port, createdNs); then job.Take(jpeg) for each picture, from one
// goroutine at a time.
package mjpeg
