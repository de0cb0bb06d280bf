package rtt

import (
	"encoding/json"
	"fmt"

	"netdyno.dev/contender"
)

const (
	maxMessageBytes   = 60_000
	maxRate           = 1_000_000
	maxOutstanding    = 1_000
	maxTasks          = 10_000
	maxEchoDelayNs    = 1_000_000
	minTimeoutMs      = 100
	maxTimeoutMs      = 60_000
	minSeconds        = 0.2
	maxSeconds        = 3_600
	maxVerifyMessages = 100_000
)

// Params contains the parameters of the rtt workload.
type Params struct {
	Transport      string  `json:"transport"`
	MessageBytes   int     `json:"message_bytes"`
	Rate           int64   `json:"rate"`
	Outstanding    int     `json:"outstanding"`
	Tasks          int     `json:"tasks"`
	Pacing         string  `json:"pacing"`
	EchoDelayNs    int64   `json:"echo_delay_ns"`
	TimeoutMs      int64   `json:"timeout_ms"`
	Seconds        float64 `json:"seconds"`
	VerifyMessages uint64  `json:"verify_messages"`
}

// ReadParams reads and checks the parameters of a setup.
func ReadParams(setup contender.Setup) (params Params, err error) {
	if err = json.Unmarshal(setup.Params, &params); err != nil {
		return params, fmt.Errorf("params: %w", err)
	}
	if params.Transport != "udp" && params.Transport != "tcp" {
		return params, fmt.Errorf("params: transport is %q, not udp or tcp", params.Transport)
	}
	if params.Pacing != "spin" && params.Pacing != "timer" {
		return params, fmt.Errorf("params: pacing is %q, not spin or timer", params.Pacing)
	}
	if params.Seconds < minSeconds || params.Seconds > maxSeconds {
		return params, fmt.Errorf("params: seconds is %g, not %g to %d", params.Seconds, minSeconds, maxSeconds)
	}
	for _, bound := range []struct {
		name            string
		value, min, max int64
	}{
		{"message_bytes", int64(params.MessageBytes), contender.HeaderBytes, maxMessageBytes},
		{"rate", params.Rate, 0, maxRate},
		{"outstanding", int64(params.Outstanding), 1, maxOutstanding},
		{"tasks", int64(params.Tasks), 0, maxTasks},
		{"echo_delay_ns", params.EchoDelayNs, 0, maxEchoDelayNs},
		{"timeout_ms", params.TimeoutMs, minTimeoutMs, maxTimeoutMs},
		{"verify_messages", int64(min(params.VerifyMessages, maxVerifyMessages+1)), 1, maxVerifyMessages},
	} {
		if bound.value < bound.min || bound.value > bound.max {
			return params, fmt.Errorf("params: %s is %d, not %d to %d", bound.name, bound.value, bound.min, bound.max)
		}
	}
	return params, nil
}

// UDP reports whether the transport is UDP.
func (p Params) UDP() bool { return p.Transport == "udp" }
