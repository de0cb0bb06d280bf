package echonet

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"netdyno.dev/contender"
)

const (
	maxOutstanding = 128
	minTimeoutMs   = 100
	maxTimeoutMs   = 60_000
	minSeconds     = 0.2
	maxSeconds     = 3_600
)

// Params contains the parameters of the echonet workload and the addresses.
type Params struct {
	Outstanding int     `json:"outstanding"`
	TimeoutMs   int64   `json:"timeout_ms"`
	Seconds     float64 `json:"seconds"`

	Local, Peer netip.Addr `json:"-"`
}

// Timeout returns the maximum duration of a read.
func (p Params) Timeout() time.Duration { return time.Duration(p.TimeoutMs) * time.Millisecond }

// ReadParams reads and checks the parameters of a setup.
func ReadParams(setup contender.Setup) (params Params, err error) {
	if err = json.Unmarshal(setup.Params, &params); err != nil {
		return params, fmt.Errorf("params: %w", err)
	}
	if params.Local, err = netip.ParseAddr(setup.Local); err != nil {
		return params, fmt.Errorf("local: %w", err)
	}
	if params.Peer, err = netip.ParseAddr(setup.Peer); err != nil {
		return params, fmt.Errorf("peer: %w", err)
	}
	if params.Outstanding < 1 || params.Outstanding > maxOutstanding {
		return params, fmt.Errorf("params: outstanding is %d, not 1 to %d", params.Outstanding, maxOutstanding)
	}
	if params.TimeoutMs < minTimeoutMs || params.TimeoutMs > maxTimeoutMs {
		return params, fmt.Errorf("params: timeout_ms is %d, not %d to %d", params.TimeoutMs, minTimeoutMs, maxTimeoutMs)
	}
	if params.Seconds < minSeconds || params.Seconds > maxSeconds {
		return params, fmt.Errorf("params: seconds is %g, not %g to %d", params.Seconds, minSeconds, maxSeconds)
	}
	return params, nil
}

// Begin reads the setup. An unsupported one ends the process.
func Begin() (*contender.Lab, contender.Setup, Params) {
	lab, setup := contender.Connect()
	if setup.Workload != "echonet" || (setup.Role != "controller" && setup.Role != "device") {
		lab.Unsupported(fmt.Sprintf("workload %q, role %q", setup.Workload, setup.Role))
	}
	params, err := ReadParams(setup)
	if err != nil {
		lab.Failed(err.Error())
	}
	return lab, setup, params
}
