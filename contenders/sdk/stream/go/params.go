package stream

import (
	"encoding/json"
	"fmt"

	"netdyno.dev/contender"
)

const (
	// PrefixBytes is the length of the number before each message of a TCP stream.
	PrefixBytes = 4

	minMessageBytes   = 8 // a sequence number
	maxMessageBytes   = 1 << 20
	maxDatagramBytes  = 65_507 // payload of UDP over IPv4
	maxConnections    = 256
	maxVerifyMessages = 500
)

// Params contains the parameters of the stream workload.
type Params struct {
	Transport      string `json:"transport"`
	MessageBytes   int    `json:"message_bytes"`
	Connections    int    `json:"connections"`
	VerifyMessages uint64 `json:"verify_messages"`
	seed           uint64
}

// ReadParams reads and checks the workload, the role and the parameters of a setup. If it does not support them, or if they are
// wrong, it ends the process.
func ReadParams(lab *contender.Lab, setup contender.Setup) Params {
	if setup.Workload != "stream" || (setup.Role != "sender" && setup.Role != "receiver") {
		lab.Unsupported(fmt.Sprintf("workload %q, role %q", setup.Workload, setup.Role))
	}
	params := Params{seed: setup.Seed}
	if err := json.Unmarshal(setup.Params, &params); err != nil {
		lab.Failed("params: " + err.Error())
	}
	if params.Transport != "tcp" && params.Transport != "udp" {
		lab.Unsupported(fmt.Sprintf("transport %q", params.Transport))
	}
	if params.UDP() && params.MessageBytes > maxDatagramBytes {
		lab.Unsupported(fmt.Sprintf("UDP messages of %d bytes; a datagram has at most %d", params.MessageBytes, maxDatagramBytes))
	}
	if err := params.check(); err != nil {
		lab.Failed(err.Error())
	}
	return params
}

func (p Params) check() error {
	for _, bound := range []struct {
		name            string
		value, min, max int
	}{
		{"message_bytes", p.MessageBytes, minMessageBytes, maxMessageBytes},
		{"connections", p.Connections, 1, maxConnections},
		{"verify_messages", int(min(p.VerifyMessages, maxVerifyMessages+1)), 1, maxVerifyMessages},
	} {
		if bound.value < bound.min || bound.value > bound.max {
			return fmt.Errorf("params: %s is %d, not %d to %d", bound.name, bound.value, bound.min, bound.max)
		}
	}
	return nil
}

// UDP reports whether the transport is UDP.
func (p Params) UDP() bool { return p.Transport == "udp" }
