package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"

	"netdyno.dev/contender"
	"netdyno.dev/contender/stream"
)

type receiver struct {
	lab   *contender.Lab
	local netip.AddrPort
	state *stream.Receiver
}

func (r *receiver) serve() {
	var ports []uint16
	for i := range r.state.Params.Connections {
		listen := r.listenTCP
		if r.state.Params.UDP() {
			listen = r.listenUDP
		}
		port, err := listen(i)
		if err != nil {
			r.lab.Failed(fmt.Sprintf("connection %d: %v", i, err))
		}
		ports = append(ports, port)
	}
	r.state.Serve(ports)
}

func (r *receiver) listenTCP(i int) (port uint16, err error) {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(r.local))
	if err != nil {
		return 0, err
	}
	go func() {
		defer closer(listener)
		conn, err := listener.Accept()
		if err == nil {
			err = r.receiveStream(conn, r.state.Sink(i))
		}
		if !over(err) {
			r.lab.Failed(fmt.Sprintf("connection %d: %v", i, err))
		}
	}()
	return listener.Addr().(*net.TCPAddr).AddrPort().Port(), nil // a TCP listener's address is of this type
}

// receiveStream receives messages, each after its length, until the connection ends.
func (r *receiver) receiveStream(conn net.Conn, sink *stream.Sink) error {
	reader := bufio.NewReader(conn)
	var prefix [stream.PrefixBytes]byte
	message := make([]byte, r.state.Params.MessageBytes)
	for {
		if _, err := io.ReadFull(reader, prefix[:]); err != nil {
			return err
		}
		if length := binary.BigEndian.Uint32(prefix[:]); int(length) != len(message) {
			return fmt.Errorf("a message of %d bytes, not %d", length, len(message))
		}
		if _, err := io.ReadFull(reader, message); err != nil {
			return err
		}
		sink.Take(message)
	}
}

func (r *receiver) listenUDP(i int) (port uint16, err error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(r.local))
	if err != nil {
		return 0, err
	}
	go func() {
		r.lab.Failed(fmt.Sprintf("connection %d: %v", i, r.receiveDatagrams(conn, r.state.Sink(i))))
	}()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Port(), nil // a UDP socket's address is of this type
}

// receiveDatagrams receives messages until the socket fails.
func (r *receiver) receiveDatagrams(conn *net.UDPConn, sink *stream.Sink) error {
	// One more byte, so that a longer datagram is detected.
	buffer := make([]byte, r.state.Params.MessageBytes+1)
	for {
		bytes, _, err := conn.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return err
		}
		sink.Take(buffer[:bytes])
	}
}
