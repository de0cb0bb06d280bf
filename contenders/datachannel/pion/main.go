// Command pion is Pion WebRTC as a contender of the datachannel workload, in both roles.
//
// Pion runs with its defaults, except for addresses: the lab's address (possibly loopback) is the only candidate, without STUN
// and mDNS. Messages arrive by callback, and the sender waits for the buffered-amount-low callback, as in Pion's
// data-channels-flow-control example.
package main

import (
	"fmt"
	"net"

	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"netdyno.dev/contender"
)

const (
	module          = "github.com/pion/webrtc/v4"
	channelLabel    = "netdyno"
	maxMessageBytes = 262144
)

// role contains the behaviour that differs between offerer and answerer.
type role interface {
	// signal handles a signal for one connection.
	signal(contender.DataChannelSignal)
	// start starts a phase.
	start(phase string)
	// values returns the counters.
	values() contender.Values
	// stop ends all sending.
	stop()
}

func main() {
	lab, setup := contender.Connect()
	params, err := setup.DataChannel()
	local := net.ParseIP(setup.Local)
	switch {
	case setup.Workload != "datachannel" || (setup.Role != "offerer" && setup.Role != "answerer"):
		lab.Unsupported(fmt.Sprintf("workload %q, role %q", setup.Workload, setup.Role))
	case err != nil:
		lab.Failed(err.Error())
	case local == nil:
		lab.Failed(fmt.Sprintf("local %q is not an IP address", setup.Local))
	case params.MessageBytes > maxMessageBytes:
		lab.Unsupported(fmt.Sprintf("messages of more than %d bytes", maxMessageBytes))
	}
	base := &peers{lab: lab, api: newAPI(local), params: params}
	lab.Ready("Pion WebRTC", contender.ModuleVersion(module))
	var role role
	if setup.Role == "offerer" {
		role = newOfferer(base, setup)
	} else {
		role = newAnswerer(base, setup)
	}
	serve(lab, params, role)
}

func newAPI(local net.IP) *webrtc.API {
	var engine webrtc.SettingEngine
	engine.SetIPFilter(local.Equal)
	engine.SetIncludeLoopbackCandidate(local.IsLoopback())
	engine.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	return webrtc.NewAPI(webrtc.WithSettingEngine(engine))
}

func serve(lab *contender.Lab, params contender.DataChannel, role role) {
	for {
		switch event := lab.Next().(type) {
		case contender.Signal:
			body, err := params.DataChannelSignal(event)
			if err != nil {
				lab.Failed("signal: " + err.Error())
			}
			role.signal(body)
		case contender.Start:
			role.start(event.Phase)
		case contender.Mark:
			lab.Counters(event, role.values())
		case contender.Stop:
			role.stop()
			lab.Result(role.values(), nil)
			return
		}
	}
}
