package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"netdyno.dev/contender"
)

// Receiver is the receiving role.
type Receiver struct {
	Params Params
	lab    *contender.Lab
	sinks  []*Sink

	gate       sync.Mutex // protects the following fields
	digest     contender.Digest
	unverified int // connections, and the start of verify
}

// NewReceiver creates the sinks of all connections.
func NewReceiver(lab *contender.Lab, params Params) *Receiver {
	receiver := &Receiver{Params: params, lab: lab, unverified: params.Connections + 1}
	for i := range params.Connections {
		sink := &Sink{receiver: receiver, stream: uint32(i), expected: make([]byte, params.MessageBytes)}
		receiver.sinks = append(receiver.sinks, sink)
	}
	return receiver
}

// Sink returns the checks and counters of a connection.
func (r *Receiver) Sink(connection int) *Sink { return r.sinks[connection] }

// Serve signals the port of each connection to the sender, and handles the lab's events until stop.
func (r *Receiver) Serve(ports []uint16) {
	r.lab.Signal("sender", map[string][]uint16{"ports": ports})
	r.lab.Connected([]uint64{})
	for {
		switch event := r.lab.Next().(type) {
		case contender.Start:
			if event.Phase == "verify" {
				r.passed(contender.Digest{})
			}
		case contender.Mark:
			r.lab.Counters(event, r.values())
		case contender.Stop:
			r.lab.Result(r.values(), nil)
			return
		}
	}
}

// passed prints verified after the start of the phase and the last message of the last connection.
func (r *Receiver) passed(digest contender.Digest) {
	r.gate.Lock()
	defer r.gate.Unlock()
	for i := range r.digest {
		r.digest[i] ^= digest[i]
	}
	r.unverified--
	if r.unverified == 0 {
		messages := uint64(r.Params.Connections) * r.Params.VerifyMessages
		r.lab.Verified(r.digest, messages, messages*uint64(r.Params.MessageBytes))
	}
}

func (r *Receiver) values() contender.Values {
	var messages, gaps, repeats, disorder uint64
	for _, sink := range r.sinks {
		messages += sink.messages.Load()
		gaps += sink.gaps.Load()
		repeats += sink.repeats.Load()
		disorder += sink.disorder.Load()
	}
	return contender.Values{
		"messages": messages, "bytes": messages * uint64(r.Params.MessageBytes),
		"gaps": gaps, "repeats": repeats, "disorder": disorder,
	}
}

// Sink checks and counts the messages of one connection. It is used by one goroutine at a time.
type Sink struct {
	receiver *Receiver
	stream   uint32
	numbers  contender.Receiver
	next     uint64 // expected sequence
	expected []byte
	digest   contender.Digest

	messages, gaps, repeats, disorder atomic.Uint64
	_                                 [64]byte // avoids false sharing
}

// Take checks and counts a message. A wrong one ends the process.
func (s *Sink) Take(message []byte) {
	verifyMessages := s.receiver.Params.VerifyMessages
	before := s.messages.Load()
	if err := s.check(message, before < verifyMessages); err != nil {
		s.receiver.lab.Failed(fmt.Sprintf("connection %d: message %d: %v", s.stream, before, err))
	}
	s.messages.Store(before + 1)
	if before < verifyMessages {
		s.receiver.lab.Signal("sender", map[string]uint32{"received": s.stream})
		if before+1 == verifyMessages {
			s.receiver.passed(s.digest)
		}
	}
}

func (s *Sink) check(message []byte, verify bool) error {
	if len(message) != len(s.expected) {
		return fmt.Errorf("%d bytes, not %d", len(message), len(s.expected))
	}
	if verify {
		contender.Fill(s.expected, s.receiver.Params.seed, s.stream, s.next)
		if !bytes.Equal(message, s.expected) {
			return fmt.Errorf("wrong content in verify")
		}
		s.digest.Add(message)
	}
	sequence, err := s.sequence(message, verify)
	if err != nil {
		return err
	}
	s.numbers.Take(sequence)
	if sequence == s.next {
		s.next++
		return nil
	}
	if !s.receiver.Params.UDP() {
		return fmt.Errorf("sequence %d, expected %d", sequence, s.next)
	}
	s.next = max(s.next, sequence+1)
	s.gaps.Store(s.numbers.Gaps)
	s.repeats.Store(s.numbers.Repeats)
	s.disorder.Store(s.numbers.Disorder)
	return nil
}

// sequence returns the number of a message, which short messages of verify do not contain.
func (s *Sink) sequence(message []byte, verify bool) (uint64, error) {
	switch {
	case len(message) >= contender.HeaderBytes:
		stream, sequence, ok := contender.ReadHeader(message)
		if !ok || stream != s.stream {
			return 0, fmt.Errorf("wrong header")
		}
		return sequence, nil
	case verify:
		return s.next, nil
	}
	return binary.BigEndian.Uint64(message), nil
}
