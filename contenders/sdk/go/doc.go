// Package contender implements version 1 of Netdyno's contender protocol for contenders: JSON lines on stdin and stdout
// (lab.go), the payload (payload.go), and support for data channel adapters (datachannel.go, transfer.go). The folders
// rtt, echonet and mjpeg contain modules for those workloads.
//
// An adapter connects, answers with Ready or Unsupported, and then handles events until Stop:
//
//	lab, setup := contender.Connect()
//	lab.Ready("...", contender.ModuleVersion("..."))
//	for {
//		switch event := lab.Next().(type) { ... }
//	}
//
// All methods of Lab may be called from any goroutine, except Next, which must be called from a single one.
package contender
