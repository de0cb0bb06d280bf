"""The sockets of ping: a protocol for each lane, which passes every message and its time of arrival to `on_message`."""

import asyncio
from time import monotonic_ns


class Link:
    """The common part of both transports. `send` is the transport's own call."""

    def __init__(self, lane, fail):
        self.lane, self._fail = lane, fail
        self.on_message = self.send = None
        self.transport = None

    def connection_lost(self, error):
        self._fail(f"lane {self.lane.stream}: connection lost: {error}")


class UdpLink(Link, asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport, self.send = transport, transport.sendto

    def datagram_received(self, data, _):
        self.on_message(self, data, monotonic_ns())

    def error_received(self, error):
        self._fail(f"lane {self.lane.stream}: {error}")


class TcpLink(Link, asyncio.Protocol):
    def __init__(self, lane, fail, message_bytes):
        super().__init__(lane, fail)
        self._message_bytes, self._partial = message_bytes, b""

    def connection_made(self, transport):
        self.transport, self.send = transport, transport.write  # with TCP_NODELAY, which is asyncio's default

    def data_received(self, data):
        at_ns = monotonic_ns()
        if self._partial:
            data = self._partial + data
        if len(data) < self._message_bytes:
            self._partial = data
            return
        self._partial = b""
        self.on_message(self, data, at_ns)


async def open_link(lane, params, fail, peer, port):
    """Connect the socket of a lane."""
    loop = asyncio.get_running_loop()
    if params.transport == "tcp":
        made = loop.create_connection(lambda: TcpLink(lane, fail, params.message_bytes), peer, port)
    else:
        made = loop.create_datagram_endpoint(lambda: UdpLink(lane, fail), remote_addr=(peer, port))
    _, link = await made
    return link
