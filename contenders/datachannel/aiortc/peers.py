"""What both roles share: the connections and their signals."""

import asyncio

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.sdp import candidate_from_sdp
from netdyno_contender import SetupTimes, description

# Signals of one connection that it has not taken yet: one description and the candidates of a host with very many
# addresses.
MAX_WAITING_SIGNALS = 64
CANDIDATE_ADDRESS = 4  # the number of the word of a candidate line that is its address


class Peers:
    """One task a connection, so that all of them are set up at once."""

    peer = remote_type = None  # the other role, and the type of its descriptions
    steps = None  # of a connection's setup

    def __init__(self, lab, setup, params):
        self.lab, self.params = lab, params
        self.times = SetupTimes(params.pairs, self.steps)
        self.may_lose_peer = False
        self._local = setup.local
        self._signals = [asyncio.Queue(MAX_WAITING_SIGNALS) for _ in range(params.pairs)]
        self._tasks = set()
        for connection in range(params.pairs):
            self.spawn(connection, self.run(connection))
        self.spawn(0, self._announce())

    def spawn(self, connection, coroutine):
        """Run a coroutine whose failure is the end."""
        task = asyncio.create_task(self._guard(connection, coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guard(self, connection, coroutine):
        try:
            await coroutine
        except Exception as error:
            self.fail(connection, repr(error))

    def fail(self, connection, reason):
        self.lab.failed(f"connection {connection}: {reason}")

    def signal(self, body):
        try:
            self._signals[self.params.connection(body)].put_nowait(body)
        except (ValueError, asyncio.QueueFull) as error:
            self.lab.failed(f"signal: {error!r}")

    async def _announce(self):
        await self.times.done.wait()
        self.connected()
        self.lab.connected(self.times.setup_ns)

    def connected(self):
        """Every connection is up."""

    def new_connection(self, connection):
        self.times.begin(connection)
        # No list of servers at all would mean a public STUN server.
        pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))

        @pc.on("connectionstatechange")
        def _():
            if pc.connectionState in ("failed", "closed") and not self.may_lose_peer:
                self.fail(connection, f"the peer connection is {pc.connectionState}")

        return pc

    async def describe(self, pc, connection, local_description):
        """Set and send the description; setting it gathers the candidates, and it carries them."""
        await pc.setLocalDescription(local_description)
        lines = pc.localDescription.sdp.splitlines()
        kept = [line for line in lines if not is_candidate(line) or line.split()[CANDIDATE_ADDRESS] == self._local]
        if not any(map(is_candidate, kept)):
            raise RuntimeError(f"aioice gathered no candidate for {self._local}")
        sdp = "".join(line + "\r\n" for line in kept)
        self.lab.signal(self.peer, description(connection, pc.localDescription.type, sdp))

    async def remote_description(self, connection, first):
        """The peer's description, from its first signal, once it has a candidate.

        aioice gives up at once when it starts without one, so one that comes by itself is put into the description.
        """
        if first["type"] != self.remote_type:
            raise ValueError(f"a signal of type {first['type']!r}")
        sdp = first["sdp"]
        while not any(map(is_candidate, sdp.splitlines())):
            sdp += "a=" + candidate_of(await self.next_signal(connection)) + "\r\n"
        return RTCSessionDescription(sdp=sdp, type=first["type"])

    async def next_signal(self, connection):
        return await self._signals[connection].get()

    async def add_candidates(self, pc, connection):
        """Take the peer's later candidates, for ever."""
        while True:
            body = await self.next_signal(connection)
            if not candidate_of(body):  # the end of candidates
                continue
            candidate = candidate_from_sdp(candidate_of(body).removeprefix("candidate:"))
            candidate.sdpMid, candidate.sdpMLineIndex = body.get("sdp_mid"), body.get("sdp_mline_index")
            await pc.addIceCandidate(candidate)


def is_candidate(line):
    return line.startswith("a=candidate:")


def candidate_of(body):
    if body["type"] != "candidate":
        raise ValueError(f"a signal of type {body['type']!r}")
    return body["candidate"]
