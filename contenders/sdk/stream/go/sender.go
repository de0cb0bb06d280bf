package stream

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"netdyno.dev/contender"
)

// pause is the time between two checks for a phase or an acknowledgement. None is awaited from warmup on.
const pause = time.Millisecond

// The stages of a sender.
const (
	nothing int32 = iota
	verify
	traffic
	stopped
)

// Sender is the sending role.
type Sender struct {
	Params  Params
	stage   atomic.Int32
	sources []*Source
}

// NewSender creates the sources of all connections.
func NewSender(params Params) *Sender {
	sender := &Sender{Params: params}
	for i := range params.Connections {
		source := &Source{sender: sender, stream: uint32(i), message: make([]byte, params.MessageBytes)}
		sender.sources = append(sender.sources, source)
	}
	return sender
}

// Source returns the messages of a connection.
func (s *Sender) Source(connection int) *Source { return s.sources[connection] }

// Serve handles the lab's events until stop. It calls connect once, with the receiver's port for each connection, on another
// goroutine.
func (s *Sender) Serve(lab *contender.Lab, connect func(ports []uint16)) {
	connected := false
	for {
		switch event := lab.Next().(type) {
		case contender.Signal:
			ports, err := s.signal(event.Body)
			if err == nil && ports != nil && connected {
				err = errors.New("duplicate ports")
			}
			if err != nil {
				lab.Failed("signal: " + err.Error())
			}
			if ports != nil {
				connected = true
				go connect(ports)
			}
		case contender.Start:
			s.start(event.Phase)
		case contender.Mark:
			lab.Counters(event, s.values())
		case contender.Stop:
			s.stage.Store(stopped)
			lab.Result(s.values(), nil)
			return
		}
	}
}

func (s *Sender) start(phase string) {
	if phase == "verify" {
		s.stage.Store(verify)
	} else {
		s.stage.Store(traffic)
	}
}

// signal handles {"received": i}, or returns the ports of {"ports": [..]}.
func (s *Sender) signal(body json.RawMessage) (ports []uint16, err error) {
	var signal struct {
		Ports    []uint16
		Received *int
	}
	if err := json.Unmarshal(body, &signal); err != nil {
		return nil, err
	}
	switch {
	case signal.Received != nil && *signal.Received >= 0 && *signal.Received < len(s.sources):
		s.sources[*signal.Received].received.Add(1)
		return nil, nil
	case len(signal.Ports) == len(s.sources):
		return signal.Ports, nil
	}
	return nil, fmt.Errorf("%s is invalid", body)
}

func (s *Sender) values() contender.Values {
	var messages uint64
	for _, source := range s.sources {
		messages += source.messages.Load()
	}
	return contender.Values{"messages": messages, "bytes": messages * uint64(s.Params.MessageBytes)}
}

// Source generates and counts the messages of one connection. It is used by one goroutine.
type Source struct {
	sender   *Sender
	stream   uint32
	message  []byte
	messages atomic.Uint64
	received atomic.Uint64 // acknowledged messages of verify
	_        [64]byte      // avoids false sharing
}

// Next waits until the next message may be sent, counts it, and returns it. It is valid until the next call. Next does not
// return after stop.
func (s *Source) Next() []byte {
	for !s.maySend() {
		time.Sleep(pause)
	}
	params, sequence := &s.sender.Params, s.messages.Load()
	s.messages.Store(sequence + 1)
	switch {
	case sequence < params.VerifyMessages:
		contender.Fill(s.message, params.seed, s.stream, sequence)
	case len(s.message) >= contender.HeaderBytes:
		contender.WriteHeader(s.message, s.stream, sequence)
	default:
		binary.BigEndian.PutUint64(s.message, sequence)
	}
	return s.message
}

// Verify reports whether the last message belongs to verify: flush it, because the next one waits for its acknowledgement.
func (s *Source) Verify() bool { return s.messages.Load() <= s.sender.Params.VerifyMessages }

func (s *Source) maySend() bool {
	stage := s.sender.stage.Load()
	if sequence := s.messages.Load(); sequence < s.sender.Params.VerifyMessages {
		return stage == verify && sequence <= s.received.Load()
	}
	return stage == traffic
}
