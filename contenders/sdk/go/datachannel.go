package contender

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Hello is the message that the answerer sends when a channel opens.
const Hello = "hello"

const (
	maxPairs        = 10_000
	maxMessageBytes = 1 << 28 // bounds memory; the adapter declares the limit of its library
)

// DataChannel contains the parameters of the datachannel workload.
type DataChannel struct {
	Pairs          int    `json:"pairs"`
	MessageBytes   int    `json:"message_bytes"`
	Ordered        bool   `json:"ordered"`
	VerifyMessages uint64 `json:"verify_messages"`
	HighWaterBytes uint64 `json:"high_water_bytes"`
}

// DataChannel reads and checks the parameters of the datachannel workload.
func (s Setup) DataChannel() (params DataChannel, err error) {
	if err = json.Unmarshal(s.Params, &params); err != nil {
		return params, fmt.Errorf("params: %w", err)
	}
	switch {
	case params.Pairs < 1 || params.Pairs > maxPairs:
		err = fmt.Errorf("params: pairs is %d, not 1 to %d", params.Pairs, maxPairs)
	case params.MessageBytes < HeaderBytes || params.MessageBytes > maxMessageBytes:
		err = fmt.Errorf("params: message_bytes is %d, not %d to %d", params.MessageBytes, HeaderBytes, maxMessageBytes)
	case params.VerifyMessages < 1 || params.HighWaterBytes < 1:
		err = errors.New("params: verify_messages and high_water_bytes are at least 1")
	}
	return params, err
}

// Description is the signal body "offer" or "answer".
type Description struct {
	Connection int    `json:"connection"`
	Type       string `json:"type"`
	SDP        string `json:"sdp"`
}

// Candidate is the signal body "candidate".
type Candidate struct {
	Connection    int     `json:"connection"`
	Type          string  `json:"type"`
	Candidate     string  `json:"candidate"`
	SDPMid        *string `json:"sdp_mid"`
	SDPMLineIndex *uint16 `json:"sdp_mline_index"`
}

// DataChannelSignal is a received signal body of the workload. Type determines which fields are set.
type DataChannelSignal struct {
	Candidate
	SDP string `json:"sdp"`
}

// DataChannelSignal parses the body of a signal and checks its connection number.
func (p DataChannel) DataChannelSignal(signal Signal) (body DataChannelSignal, err error) {
	if err = json.Unmarshal(signal.Body, &body); err == nil && (body.Connection < 0 || body.Connection >= p.Pairs) {
		err = fmt.Errorf("connection %d does not exist", body.Connection)
	}
	return body, err
}

// SetupTimes measures the setup time of each connection, from creating its object until it is usable.
type SetupTimes struct {
	lock    sync.Mutex
	begunNs []uint64
	left    []int // remaining steps of each connection
	setupNs []uint64
	pending int
	done    chan struct{}
}

// NewSetupTimes creates the times of connections with this number of steps. The offerer has two: the channel opens and the
// hello arrives. The answerer has one: the channel opens.
func NewSetupTimes(connections, steps int) *SetupTimes {
	times := &SetupTimes{
		begunNs: make([]uint64, connections),
		left:    make([]int, connections),
		setupNs: make([]uint64, connections),
		pending: connections,
		done:    make(chan struct{}),
	}
	for i := range times.left {
		times.left[i] = steps
	}
	return times
}

// Begin starts the time of a connection. Call it right before its object is created.
func (s *SetupTimes) Begin(connection int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.begunNs[connection] = NowNs()
}

// Step reports a step. The last one ends the time of the connection.
func (s *SetupTimes) Step(connection int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.left[connection]--
	if s.left[connection] != 0 {
		return
	}
	s.setupNs[connection] = NowNs() - s.begunNs[connection]
	s.pending--
	if s.pending == 0 {
		close(s.done)
	}
}

// Done returns a channel that is closed when all connections are established.
func (s *SetupTimes) Done() <-chan struct{} { return s.done }

// DurationsNs returns the setup time of each connection. Call it after Done.
func (s *SetupTimes) DurationsNs() []uint64 { return s.setupNs }
