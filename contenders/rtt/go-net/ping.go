package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"netdyno.dev/contender"
	"netdyno.dev/contender/rtt"
)

const (
	helloTimeout = 10 * time.Second
	// lookNs is the maximum interval at which a lane checks for a lost datagram. The deadline is renewed after half of it.
	lookNs = int64(100 * time.Millisecond)
)

// pinger has a connected socket and a goroutine for each lane.
type pinger struct {
	lab         *contender.Lab
	params      rtt.Params
	local, peer netip.Addr
	ping        *rtt.Ping
}

func newPinger(lab *contender.Lab, setup contender.Setup, params rtt.Params, local, peer netip.Addr) *pinger {
	return &pinger{lab: lab, params: params, local: local, peer: peer, ping: rtt.NewPing(setup, params)}
}

func (p *pinger) serve() {
	p.ping.Serve(p.lab, func(port uint16) {
		go p.run(netip.AddrPortFrom(p.peer, port))
	})
}

// run opens the lanes one at a time, then starts all of them.
func (p *pinger) run(pong netip.AddrPort) {
	var sockets []*socket
	var setupNs []uint64
	for i, lane := range p.ping.Lanes() {
		begunNs := rtt.NowNs()
		socket, err := p.open(lane, pong)
		if err != nil {
			p.lab.Failed(fmt.Sprintf("lane %d: %v", i, err))
		}
		sockets = append(sockets, socket)
		setupNs = append(setupNs, uint64(rtt.NowNs()-begunNs))
	}
	for i, socket := range sockets {
		go func() {
			p.lab.Failed(fmt.Sprintf("lane %d: %v", i, socket.run()))
		}()
	}
	p.lab.Connected(setupNs)
}

// open creates a socket and waits for the echo of its hello.
func (p *pinger) open(lane *rtt.Lane, pong netip.AddrPort) (*socket, error) {
	one := &socket{lane: lane, udp: p.params.UDP(), echo: make([]byte, p.params.MessageBytes)}
	from := netip.AddrPortFrom(p.local, 0)
	var err error
	if one.udp {
		// One byte longer than an echo, so that longer datagrams are detected.
		one.echo = make([]byte, p.params.MessageBytes+1)
		one.conn, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(from), net.UDPAddrFromAddrPort(pong))
	} else {
		// The package sets TCP_NODELAY by default.
		one.conn, err = net.DialTCP("tcp", net.TCPAddrFromAddrPort(from), net.TCPAddrFromAddrPort(pong))
	}
	if err != nil {
		return nil, err
	}
	if err = one.conn.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, err
	}
	if _, err = one.conn.Write(p.ping.Hello()); err != nil {
		return nil, err
	}
	bytes, err := one.receive()
	if err != nil {
		return nil, err
	}
	if err = p.ping.CheckHello(one.echo[:bytes]); err != nil {
		return nil, err
	}
	return one, one.conn.SetReadDeadline(time.Time{})
}

// socket is the socket of a lane.
type socket struct {
	lane       *rtt.Lane
	conn       net.Conn
	udp        bool
	echo       []byte
	settledNs  int64 // when the last request was settled
	deadlineNs int64 // read deadline (UDP)
}

func (s *socket) run() error {
	for {
		request := s.lane.Next()
		if err := s.renew(); err != nil {
			return err
		}
		sentNs := s.lane.Wait()
		if _, err := s.conn.Write(request); err != nil {
			return err
		}
		s.lane.Sent(sentNs)
		if err := s.await(); err != nil {
			return err
		}
	}
}

// renew sets the deadline before the wait for a request, so that it does not delay the send.
func (s *socket) renew() error {
	fromNs := max(s.settledNs, s.lane.DueNs())
	if !s.udp || s.deadlineNs-fromNs >= lookNs/2 {
		return nil
	}
	return s.look(fromNs + lookNs)
}

// await receives until the request has its echo or is lost.
func (s *socket) await() error {
	for {
		bytes, err := s.receive()
		nowNs := rtt.NowNs()
		if s.udp && errors.Is(err, os.ErrDeadlineExceeded) {
			if s.lane.Lost(nowNs) {
				s.settledNs = nowNs
				return nil
			}
			if err = s.look(min(nowNs+lookNs, s.lane.TimeoutNs())); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if done, err := s.lane.Take(s.echo[:bytes], nowNs); done || err != nil {
			s.settledNs = nowNs
			return err
		}
	}
}

// receive waits for a datagram, or for a whole message of the stream.
func (s *socket) receive() (bytes int, err error) {
	if s.udp {
		return s.conn.Read(s.echo)
	}
	return io.ReadFull(s.conn, s.echo)
}

// look sets the read deadline, at which the lane checks whether the request is lost.
func (s *socket) look(deadlineNs int64) error {
	s.deadlineNs = deadlineNs
	return s.conn.SetReadDeadline(rtt.At(deadlineNs))
}
