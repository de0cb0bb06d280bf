// Command go-net is Go's package net as a contender of the rtt workload, in both roles. It uses blocking calls with one
// goroutine for each lane, connection and background task. The runtime chooses the number of threads.
//
// Go's yield, runtime.Gosched, does not poll the network while any goroutine is runnable. If at least GOMAXPROCS lanes spin,
// the echoes of other lanes wait up to 10 ms for the runtime's monitor. Pacing by timer, a single lane, or a rate that leaves
// no time to spin avoids this effect.
package main

import (
	"fmt"
	"net/netip"
	"runtime"
	"strings"

	"netdyno.dev/contender"
	"netdyno.dev/contender/rtt"
)

func main() {
	lab, setup := contender.Connect()
	if setup.Workload != "rtt" || (setup.Role != "ping" && setup.Role != "pong") {
		lab.Unsupported(fmt.Sprintf("workload %q, role %q", setup.Workload, setup.Role))
	}
	params, err := rtt.ReadParams(setup)
	if err != nil {
		lab.Failed(err.Error())
	}
	local, err := netip.ParseAddr(setup.Local)
	if err != nil {
		lab.Failed("local: " + err.Error())
	}
	peer, err := netip.ParseAddr(setup.Peer)
	if err != nil {
		lab.Failed("peer: " + err.Error())
	}
	lab.Ready("Go net", strings.TrimPrefix(runtime.Version(), "go"))
	if setup.Role == "ping" {
		newPinger(lab, setup, params, local, peer).serve()
	} else {
		newPonger(lab, params, local).serve()
	}
}
