package contender

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Source generates and counts the messages of one connection of the offerer. It is used by one goroutine; any goroutine may
// read its counters.
type Source struct {
	params   DataChannel
	seed     uint64
	stream   uint32
	message  []byte
	messages atomic.Uint64
}

// NewSource creates the source of one connection.
func NewSource(setup Setup, params DataChannel, connection int) *Source {
	message := make([]byte, params.MessageBytes)
	return &Source{params: params, seed: setup.Seed, stream: uint32(connection), message: message}
}

// Message returns the next message to send. Its bytes are valid until the next call.
func (s *Source) Message() []byte {
	if sequence := s.messages.Load(); sequence < s.params.VerifyMessages {
		Fill(s.message, s.seed, s.stream, sequence)
	} else {
		WriteHeader(s.message, s.stream, sequence)
	}
	return s.message
}

// Sent counts the message as sent.
func (s *Source) Sent() { s.messages.Add(1) }

// SourceValues returns the counters of the offerer, summed over its connections.
func SourceValues(sources []*Source) Values {
	values := Values{"messages": 0, "bytes": 0}
	for _, source := range sources {
		messages := source.messages.Load()
		values["messages"] += messages
		values["bytes"] += messages * uint64(source.params.MessageBytes)
	}
	return values
}

// Sink checks and counts the messages of all connections of the answerer.
type Sink struct {
	params  DataChannel
	seed    uint64
	streams []sinkStream

	verifyLock sync.Mutex
	digest     Digest
	verified   uint64 // messages
	complete   chan struct{}
}

type sinkStream struct {
	lock            sync.Mutex // contended only by marks
	receiver        Receiver
	messages, bytes uint64
	_               [64]byte // avoids false sharing
}

// NewSink creates the sink of all connections.
func NewSink(setup Setup, params DataChannel) *Sink {
	return &Sink{
		params:   params,
		seed:     setup.Seed,
		streams:  make([]sinkStream, params.Pairs),
		complete: make(chan struct{}),
	}
}

// Take checks and counts a message. It returns an error if the message is wrong.
func (s *Sink) Take(connection int, message []byte) error {
	stream, sequence, ok := ReadHeader(message)
	if !ok || len(message) != s.params.MessageBytes || int(stream) != connection {
		return fmt.Errorf("connection %d: message of %d bytes for stream %d", connection, len(message), stream)
	}
	verify := sequence < s.params.VerifyMessages
	if verify && !Matches(message, s.seed, stream, sequence) {
		return fmt.Errorf("connection %d: the body of message %d is wrong", connection, sequence)
	}
	one := &s.streams[connection]
	one.lock.Lock()
	one.receiver.Take(sequence)
	one.messages++
	one.bytes += uint64(len(message))
	one.lock.Unlock()
	if verify {
		s.verify(message)
	}
	return nil
}

func (s *Sink) verify(message []byte) {
	s.verifyLock.Lock()
	defer s.verifyLock.Unlock()
	s.digest.Add(message)
	s.verified++
	if s.verified == uint64(s.params.Pairs)*s.params.VerifyMessages {
		close(s.complete)
	}
}

// Complete returns a channel that is closed when all messages of the verify phase have arrived.
func (s *Sink) Complete() <-chan struct{} { return s.complete }

// Verified returns the data received in the verify phase.
func (s *Sink) Verified() (digest Digest, messages, bytes uint64) {
	s.verifyLock.Lock()
	defer s.verifyLock.Unlock()
	return s.digest, s.verified, s.verified * uint64(s.params.MessageBytes)
}

// Values returns the counters of the answerer, summed over its connections.
func (s *Sink) Values() Values {
	var messages, bytes, gaps, repeats, disorder uint64
	for i := range s.streams {
		one := &s.streams[i]
		one.lock.Lock()
		messages += one.messages
		bytes += one.bytes
		gaps += one.receiver.Gaps
		repeats += one.receiver.Repeats
		disorder += one.receiver.Disorder
		one.lock.Unlock()
	}
	return Values{"messages": messages, "bytes": bytes, "gaps": gaps, "repeats": repeats, "disorder": disorder}
}
