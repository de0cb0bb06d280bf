package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"netdyno.dev/contender"
	"netdyno.dev/contender/stream"
)

const startTimeout = 10 * time.Second

type receiver struct {
	lab   *contender.Lab
	state *stream.Receiver
}

func (r *receiver) serve(local string) {
	port, err := startServer(local)
	for i := 0; err == nil && i < r.state.Params.Connections; i++ {
		err = r.subscribe(local, port, i)
	}
	if err != nil {
		r.lab.Failed(err.Error())
	}
	ports := make([]uint16, r.state.Params.Connections)
	for i := range ports {
		ports[i] = port
	}
	r.state.Serve(ports)
}

func startServer(local string) (port uint16, err error) {
	options := &server.Options{Host: local, Port: server.RANDOM_PORT, NoLog: true, NoSigs: true}
	embedded, err := server.NewServer(options)
	if err != nil {
		return 0, err
	}
	go embedded.Start()
	if !embedded.ReadyForConnections(startTimeout) {
		return 0, errors.New("the server does not start")
	}
	address, ok := embedded.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("the server has no TCP address")
	}
	return address.AddrPort().Port(), nil
}

// subscribe receives a connection's messages on the goroutine of the subscription.
func (r *receiver) subscribe(local string, port uint16, i int) error {
	conn, err := dial(local, port)
	if err != nil {
		return err
	}
	sink, received := r.state.Sink(i), uint64(0)
	every := window(r.state.Params) / acknowledgement
	_, err = conn.Subscribe(subject(i), func(message *nats.Msg) {
		sink.Take(message.Data)
		if received++; received%every == 0 {
			number := binary.BigEndian.AppendUint64(nil, received)
			if err := conn.Publish(acknowledgements(i), number); err != nil {
				r.lab.Failed(fmt.Sprintf("connection %d: acknowledgement: %v", i, err))
			}
		}
	})
	if err != nil {
		return err
	}
	// The server has handled the subscription when it answers.
	return conn.Flush()
}
