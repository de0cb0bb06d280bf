package main

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"netdyno.dev/contender"
	"netdyno.dev/contender/stream"
)

type sender struct {
	lab   *contender.Lab
	host  string
	state *stream.Sender
}

// connect opens the client connections one at a time, each with the goroutine that publishes.
func (s *sender) connect(ports []uint16) {
	var setupNs []uint64
	for i, port := range ports {
		begunNs := contender.NowNs()
		one, err := s.open(i, port)
		if err != nil {
			s.lab.Failed(fmt.Sprintf("connection %d: %v", i, err))
		}
		setupNs = append(setupNs, contender.NowNs()-begunNs)
		go func() {
			s.lab.Failed(fmt.Sprintf("connection %d: %v", i, one.publish()))
		}()
	}
	s.lab.Connected(setupNs)
}

// publisher publishes the messages of one connection.
type publisher struct {
	conn         *nats.Conn
	subject      string
	source       *stream.Source
	window       uint64
	published    uint64
	acknowledged atomic.Uint64
	progress     chan struct{} // has a value after an acknowledgement
}

func (s *sender) open(i int, port uint16) (*publisher, error) {
	conn, err := dial(s.host, port)
	if err != nil {
		return nil, err
	}
	one := &publisher{
		conn: conn, subject: subject(i), source: s.state.Source(i), window: window(s.state.Params),
		progress: make(chan struct{}, 1),
	}
	_, err = conn.Subscribe(acknowledgements(i), func(message *nats.Msg) {
		one.acknowledged.Store(binary.BigEndian.Uint64(message.Data))
		select {
		case one.progress <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	return one, conn.Flush()
}

// publish publishes messages until the client fails. The client flushes them on a separate goroutine.
func (p *publisher) publish() error {
	for {
		for p.published-p.acknowledged.Load() >= p.window {
			<-p.progress
		}
		if err := p.conn.Publish(p.subject, p.source.Next()); err != nil {
			return err
		}
		p.published++
	}
}
