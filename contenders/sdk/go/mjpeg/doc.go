// Package mjpeg supports contenders of the mjpeg workload: pictures (jpeg.go), the clip (clip.go), the sender's iteration
// over it (sender.go), the receiver's counters (receiver.go), and plain sockets for libraries without their own (udp.go). It
// is a separate module, so that contenders of other workloads do not need its dependency.
//
//	job := mjpeg.Begin()
//	job.Ready("library", "1.0.0") // from then on, a separate goroutine answers the lab
//
// A sender calls job.AwaitPort(), creates the library's sender, and calls job.Connected(). Then it runs this loop:
//
//	for jpeg, ok := job.Next(); ok; jpeg, ok = job.Next() {
//		job.AwaitDue() // unless the library paces frames itself, by job.Interval()
//		...send it...
//		job.Sent(len(jpeg))
//	}
//	// Reached only if job.Live: generate pictures, and call job.Count(length) for each.
//
// A receiver reads contender.NowNs(), creates and binds the library's receiver, and calls job.Bound(port, createdNs). Then it
// calls job.Take(jpeg) for each picture, from one goroutine at a time.
package mjpeg
