"""The socket of a node, at port 3610 and in the group."""

import socket
import struct

PORT = 3610
GROUP = ("224.0.23.0", PORT)
IP_MULTICAST_ALL = 49  # not defined by the socket module


def open_link(local, tick_s=0):
    """Open the socket on the interface of `local`. `tick_s` is the timeout of a receive; 0: none."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    interface = socket.inet_aton(local)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    link.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)  # otherwise, the socket receives every group that any process of this host has joined
    link.bind(("0.0.0.0", PORT))
    link.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + interface)
    link.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface)
    link.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    if tick_s:
        # Not settimeout, which makes the socket non-blocking and polls before each receive.
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(tick_s), round(tick_s % 1 * 10**6)))
    return link
