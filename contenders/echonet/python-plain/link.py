"""The one socket of a node: port 3610, in the group."""

import socket
import struct

PORT = 3610
GROUP = ("224.0.23.0", PORT)
IP_MULTICAST_ALL = 49  # which the socket module does not name


def open_link(local, look_s=0):
    """On the interface of `local`. `look_s` is the longest that a receive waits; 0: for ever."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    interface = socket.inet_aton(local)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    link.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)  # else every group that anybody on this host is in
    link.bind(("0.0.0.0", PORT))
    link.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + interface)
    link.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface)
    link.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    if look_s:
        # Not settimeout, which makes the socket non-blocking and polls before each receive.
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(look_s), round(look_s % 1 * 10**6)))
    return link
