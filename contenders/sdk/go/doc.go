// Package contender is a contender's side of the Netdyno contender protocol, version 1: JSON lines on stdin and
// stdout (this file), the payload (payload.go), and what every data channel adapter needs (datachannel.go,
// transfer.go). What adapters of the rtt workload need is the module in the folder rtt.
//
// An adapter connects, answers with Ready or Unsupported, and then takes events until Stop:
//
//	lab, setup := contender.Connect()
//	lab.Ready("...", contender.ModuleVersion("..."))
//	for {
//		switch event := lab.Next().(type) { ... }
//	}
//
// Every method of Lab may be called from any goroutine, except Next, which is for one.
package contender
