"""The role that returns each message."""

import asyncio

from netdyno_contender.rtt import Tasks, wait_ns


class Pong:
    def __init__(self, lab, setup, params):
        self.lab, self.setup, self.params = lab, setup, params
        self.tasks = Tasks(params)
        self.messages = self.bytes = 0

    async def begin(self):
        loop = asyncio.get_running_loop()
        try:
            if self.params.transport == "tcp":
                server = await loop.create_server(lambda: TcpEcho(self), self.setup.local, 0)
                name = server.sockets[0].getsockname()
            else:
                transport, _ = await loop.create_datagram_endpoint(lambda: UdpEcho(self), (self.setup.local, 0))
                name = transport.get_extra_info("sockname")
        except OSError as error:
            self.lab.failed(f"pong: {error}")
        self.lab.signal("ping", {"port": name[1]})
        self.lab.connected([])

    def signal(self, body):
        self.lab.failed(f"pong expects no signal: {body!r}")

    def start(self, event):
        if event.phase == "warmup":
            self.tasks.begin()

    def count(self, message):
        """Count a message. Called right before returning it, so that ping never receives an uncounted echo."""
        self.messages += 1
        self.bytes += len(message)

    def values(self):
        return {"messages": self.messages, "bytes": self.bytes, "task_runs": self.tasks.runs}

    def stop(self):
        return {}


class UdpEcho(asyncio.DatagramProtocol):
    def __init__(self, pong):
        self._pong, self._delay_ns = pong, pong.params.echo_delay_ns

    def connection_made(self, transport):
        self._send = transport.sendto

    def datagram_received(self, data, addr):
        wait_ns(self._delay_ns)
        self._pong.count(data)
        self._send(data, addr)


class TcpEcho(asyncio.Protocol):
    def __init__(self, pong):
        self._pong, self._delay_ns = pong, pong.params.echo_delay_ns
        self._message_bytes, self._partial = pong.params.message_bytes, b""

    def connection_made(self, transport):
        self._send = transport.write  # with TCP_NODELAY, which is asyncio's default

    def data_received(self, data):
        if self._partial:
            data = self._partial + data
        while len(data) >= self._message_bytes:
            message, data = data[: self._message_bytes], data[self._message_bytes :]
            wait_ns(self._delay_ns)
            self._pong.count(message)
            self._send(message)
        self._partial = data
