package main

import (
	"context"
	"net"
	"net/netip"
	"syscall"
)

const (
	port           = 3610
	ipMulticastAll = 49 // IP_MULTICAST_ALL, which the syscall package does not define
)

var group = netip.AddrPortFrom(netip.AddrFrom4([4]byte{224, 0, 23, 0}), port)

// openLink opens the socket of a node on the interface of local.
func openLink(local netip.Addr) (*net.UDPConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if controlErr := raw.Control(func(fd uintptr) { err = setOptions(int(fd), local) }); controlErr != nil {
			return controlErr
		}
		return err
	}}
	conn, err := config.ListenPacket(context.Background(), "udp4", netip.AddrPortFrom(netip.IPv4Unspecified(), port).String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil // the type for "udp4"
}

func setOptions(fd int, local netip.Addr) error {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	// Otherwise, the socket receives every group that any process of this host has joined.
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, ipMulticastAll, 0); err != nil {
		return err
	}
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, syscall.IP_MULTICAST_LOOP, 0); err != nil {
		return err
	}
	if err := syscall.SetsockoptInet4Addr(fd, syscall.IPPROTO_IP, syscall.IP_MULTICAST_IF, local.As4()); err != nil {
		return err
	}
	membership := syscall.IPMreq{Multiaddr: group.Addr().As4(), Interface: local.As4()}
	return syscall.SetsockoptIPMreq(fd, syscall.IPPROTO_IP, syscall.IP_ADD_MEMBERSHIP, &membership)
}
