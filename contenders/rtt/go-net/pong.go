package main

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"

	"netdyno.dev/contender"
	"netdyno.dev/contender/rtt"
)

// maxDatagramBytes is the maximum length of a datagram.
const maxDatagramBytes = 1 << 16

// ponger has one UDP socket and its goroutine, or a goroutine for each TCP connection.
type ponger struct {
	lab    *contender.Lab
	params rtt.Params
	local  netip.AddrPort
	pong   *rtt.Pong
}

func newPonger(lab *contender.Lab, params rtt.Params, local netip.Addr) *ponger {
	return &ponger{lab: lab, params: params, local: netip.AddrPortFrom(local, 0), pong: rtt.NewPong(params)}
}

func (p *ponger) serve() {
	listen := p.listenTCP
	if p.params.UDP() {
		listen = p.listenUDP
	}
	port, err := listen()
	if err != nil {
		p.lab.Failed(err.Error())
	}
	p.pong.Serve(p.lab, port)
}

func (p *ponger) listenUDP() (port uint16, err error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(p.local))
	if err != nil {
		return 0, err
	}
	go func() {
		p.lab.Failed(echoDatagrams(conn, p.pong.Echoes()).Error())
	}()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Port(), nil // a UDP socket's address is of this type
}

// echoDatagrams returns each datagram to its sender, until the socket fails.
func echoDatagrams(conn *net.UDPConn, echoes *rtt.Echoes) error {
	buffer := make([]byte, maxDatagramBytes)
	for {
		bytes, from, err := conn.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return err
		}
		echoes.Delay()
		echoes.Count(bytes)
		if _, err := conn.WriteToUDPAddrPort(buffer[:bytes], from); err != nil {
			return err
		}
	}
}

func (p *ponger) listenTCP() (port uint16, err error) {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(p.local))
	if err != nil {
		return 0, err
	}
	go p.accept(listener)
	return listener.Addr().(*net.TCPAddr).AddrPort().Port(), nil // a TCP listener's address is of this type
}

// accept accepts one connection per lane. The package sets TCP_NODELAY by default.
func (p *ponger) accept(listener *net.TCPListener) {
	for range p.params.Outstanding {
		conn, err := listener.Accept()
		if err != nil {
			p.lab.Failed(err.Error())
		}
		go func() {
			if err := echoStream(conn, p.params.MessageBytes, p.pong.Echoes()); !over(err) {
				p.lab.Failed(err.Error())
			}
		}()
	}
}

// echoStream returns each message of the stream, until the connection ends.
func echoStream(conn net.Conn, messageBytes int, echoes *rtt.Echoes) error {
	buffer := make([]byte, messageBytes)
	for {
		if _, err := io.ReadFull(conn, buffer); err != nil {
			return err
		}
		echoes.Delay()
		echoes.Count(messageBytes)
		if _, err := conn.Write(buffer); err != nil {
			return err
		}
	}
}

// over reports whether an error only means that the peer has closed the connection, because the lab stops ping first.
func over(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
