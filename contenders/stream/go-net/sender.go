package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"netdyno.dev/contender"
	"netdyno.dev/contender/stream"
)

type sender struct {
	lab   *contender.Lab
	peer  netip.Addr
	state *stream.Sender
}

// connect opens the connections one at a time, each with its goroutine.
func (s *sender) connect(ports []uint16) {
	var setupNs []uint64
	for i, port := range ports {
		begunNs := contender.NowNs()
		conn, err := s.dial(netip.AddrPortFrom(s.peer, port))
		if err != nil {
			s.lab.Failed(fmt.Sprintf("connection %d: %v", i, err))
		}
		setupNs = append(setupNs, contender.NowNs()-begunNs)
		send := sendStream
		if s.state.Params.UDP() {
			send = sendDatagrams
		}
		go func() {
			s.lab.Failed(fmt.Sprintf("connection %d: %v", i, send(conn, s.state.Source(i))))
		}()
	}
	s.lab.Connected(setupNs)
}

func (s *sender) dial(peer netip.AddrPort) (net.Conn, error) {
	if s.state.Params.UDP() {
		return net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(peer))
	}
	return net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(peer))
}

// sendStream writes messages, each after its length, until the connection fails.
func sendStream(conn net.Conn, source *stream.Source) error {
	writer := bufio.NewWriter(conn)
	var prefix [stream.PrefixBytes]byte
	for {
		message := source.Next()
		binary.BigEndian.PutUint32(prefix[:], uint32(len(message)))
		if _, err := writer.Write(prefix[:]); err != nil {
			return err
		}
		if _, err := writer.Write(message); err != nil {
			return err
		}
		if source.Verify() {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
}

// sendDatagrams sends messages until the socket fails. A refused datagram means that the receiver has ended.
func sendDatagrams(conn net.Conn, source *stream.Source) error {
	for {
		if _, err := conn.Write(source.Next()); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
	}
}
