"""What either role does with its connections: one task for each, so that all are set up at once."""

import asyncio

from netdyno_contender import HELLO, SetupTimes, Sink, Source, description, source_values
from netdyno_rtc import RTCConfiguration, RTCIceCandidate, RTCPeerConnection, RTCSessionDescription

# Signals of one connection that it has not taken yet.
MAX_WAITING_SIGNALS = 64
# What is made and sent at a time: half of what may be buffered at most.
BATCH_MESSAGES = 64
BATCH_BYTES = 131072


class Role:
    """What both have in common."""

    peer = steps = None  # the other role, and the steps of a connection's setup

    def __init__(self, lab, setup, params):
        self.lab, self.params = lab, params
        self.times = SetupTimes(params.pairs, self.steps)
        self.may_lose_peer = False
        self._configuration = RTCConfiguration(address=setup.local)
        self._signals = [asyncio.Queue(MAX_WAITING_SIGNALS) for _ in range(params.pairs)]
        self._tasks = set()
        for connection in range(params.pairs):
            self.spawn(connection, self.run(connection))
        self.spawn(0, self._announce())

    def spawn(self, connection, coroutine):
        """Run a coroutine whose failure is the end, unless the other role may be gone."""
        task = asyncio.create_task(self._guard(connection, coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guard(self, connection, coroutine):
        try:
            await coroutine
        except Exception as error:
            if not self.may_lose_peer:
                self.lab.failed(f"connection {connection}: {error!r}")

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
        pc = RTCPeerConnection(self._configuration)

        @pc.on("connectionstatechange")
        def _():
            if pc.connectionState in ("failed", "closed") and not self.may_lose_peer:
                self.lab.failed(f"connection {connection}: it is {pc.connectionState}: {pc.failure}")

        return pc

    async def describe(self, pc, connection):
        await pc.setLocalDescription()
        local = pc.localDescription
        self.lab.signal(self.peer, description(connection, local.type, local.sdp))

    async def next_signal(self, connection):
        return await self._signals[connection].get()

    async def described(self, pc, connection, body):
        """Take the peer's description, and from then on its candidates."""
        await pc.setRemoteDescription(RTCSessionDescription(sdp=body["sdp"], type=body["type"]))
        self.spawn(connection, self._take_candidates(pc, connection))

    async def _take_candidates(self, pc, connection):
        while True:
            body = await self.next_signal(connection)
            await pc.addIceCandidate(RTCIceCandidate(body["candidate"], body.get("sdp_mid"), body.get("sdp_mline_index")))


class Offerer(Role):
    """Creates the connections, and sends."""

    peer, steps = "answerer", 2

    def __init__(self, lab, setup, params):
        self.sources = [Source(setup, params, connection) for connection in range(params.pairs)]
        self.verify, self.flood = asyncio.Event(), asyncio.Event()
        batch_bytes = min(BATCH_BYTES, params.high_water_bytes // 2)
        self.batch = max(1, min(BATCH_MESSAGES, batch_bytes // params.message_bytes))
        super().__init__(lab, setup, params)

    async def run(self, connection):
        pc = self.new_connection(connection)
        channel = pc.createDataChannel("netdyno", ordered=self.params.ordered)
        channel.highWaterMark = max(1, self.params.high_water_bytes - self.batch * self.params.message_bytes)
        await self.describe(pc, connection)
        await self.described(pc, connection, await self.next_signal(connection))
        await channel.wait_open()
        self.times.step(connection)
        hello = await channel.receive()
        if hello != HELLO:
            raise ValueError(f"a message of {len(hello)} bytes, not the hello")
        self.times.step(connection)
        await self.send(channel, self.sources[connection])

    async def send(self, channel, source):
        """The whole life of a sender: the messages of verify, then as many as it can until stop."""
        await self.verify.wait()
        while left := self.params.verify_messages - source.messages:
            await channel.send_many(self.messages(source, min(left, self.batch)))
        await self.flood.wait()
        while not self.may_lose_peer:
            await channel.send_many(self.messages(source, self.batch))

    @staticmethod
    def messages(source, count):
        batch = []
        for _ in range(count):
            batch.append(source.message())
            source.sent()
        return batch

    def start(self, phase):
        (self.verify if phase == "verify" else self.flood).set()

    def values(self):
        return source_values(self.params, self.sources)


class Answerer(Role):
    """Answers the offers, and receives."""

    peer, steps = "offerer", 1

    def __init__(self, lab, setup, params):
        self.sink = Sink(setup, params)
        super().__init__(lab, setup, params)

    async def run(self, connection):
        offer = await self.next_signal(connection)
        pc = self.new_connection(connection)
        arrived = asyncio.get_running_loop().create_future()
        pc.on("datachannel", arrived.set_result)
        await self.described(pc, connection, offer)
        await self.describe(pc, connection)
        channel = await arrived
        await channel.send_async(HELLO)
        self.times.step(connection)
        while messages := await channel.receive_many():
            for message in messages:
                self.sink.take(connection, message)

    def connected(self):
        self.may_lose_peer = True  # the offerer may stop, and be gone, first

    def start(self, phase):
        if phase == "verify":
            self.spawn(0, self.verify())

    async def verify(self):
        await self.sink.complete.wait()
        self.lab.verified(*self.sink.verified())

    def values(self):
        return self.sink.values()
