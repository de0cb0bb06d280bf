// Command go-net is Go's package net as a contender of the stream workload, in both roles. It uses blocking calls with one
// goroutine for each connection, and package bufio over TCP.
package main

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"syscall"

	"netdyno.dev/contender"
	"netdyno.dev/contender/stream"
)

func main() {
	lab, setup := contender.Connect()
	params := stream.ReadParams(lab, setup)
	local, err := netip.ParseAddr(setup.Local)
	if err != nil {
		lab.Failed("local: " + err.Error())
	}
	peer, err := netip.ParseAddr(setup.Peer)
	if err != nil {
		lab.Failed("peer: " + err.Error())
	}
	lab.Ready("Go net", strings.TrimPrefix(runtime.Version(), "go"))
	if setup.Role == "sender" {
		sender := &sender{lab: lab, peer: peer, state: stream.NewSender(params)}
		sender.state.Serve(lab, sender.connect)
		return
	}
	receiver := &receiver{lab: lab, local: netip.AddrPortFrom(local, 0), state: stream.NewReceiver(lab, params)}
	receiver.serve()
}

// over reports whether an error only means that the peer has closed the connection, because the lab stops the sender first.
func over(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// closer closes a listener that has accepted its only connection. Its error does not matter.
func closer(listener net.Listener) { _ = listener.Close() }
