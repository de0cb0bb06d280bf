// Command nats is NATS as a contender of the stream workload, in both roles: the receiver starts a nats-server in its process,
// and both roles are clients of it. Each connection of the workload is a subject, and a client connection in each role.
package main

import (
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"netdyno.dev/contender"
	"netdyno.dev/contender/stream"
)

// Core NATS discards messages of a slow subscriber, at 64 MiB by default in the client and in the server. The sender therefore
// keeps at most windowBytes unacknowledged, or windowMessages if they are longer.
const (
	windowBytes     = 16 << 20
	windowMessages  = 16
	acknowledgement = 4 // acknowledgements per window
)

func main() {
	lab, setup := contender.Connect()
	params := stream.ReadParams(lab, setup)
	if params.UDP() {
		lab.Unsupported("NATS has no UDP transport")
	}
	lab.Ready("nats.go, nats-server "+server.VERSION, contender.ModuleVersion("github.com/nats-io/nats.go"))
	if setup.Role == "sender" {
		sender := &sender{lab: lab, host: setup.Peer, state: stream.NewSender(params)}
		sender.state.Serve(lab, sender.connect)
		return
	}
	receiver := &receiver{lab: lab, state: stream.NewReceiver(lab, params)}
	receiver.serve(setup.Local)
}

// window returns the maximum number of unacknowledged messages.
func window(params stream.Params) uint64 {
	return uint64(max(windowMessages, windowBytes/params.MessageBytes))
}

func dial(host string, port uint16) (*nats.Conn, error) {
	return nats.Connect("nats://" + net.JoinHostPort(host, strconv.Itoa(int(port))))
}

func subject(connection int) string { return fmt.Sprintf("stream.%d", connection) }

func acknowledgements(connection int) string { return fmt.Sprintf("acknowledged.%d", connection) }
