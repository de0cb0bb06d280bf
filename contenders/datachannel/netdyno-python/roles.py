"""The connections of both roles."""

import asyncio

from netdyno_contender import HELLO, description, peers
from netdyno_rtc import InvalidStateError, RTCConfiguration, RTCIceCandidate, RTCPeerConnection, RTCSessionDescription

# Maximum number of messages per batch, which is at most half of the buffer.
BATCH_MESSAGES = 64
BATCH_BYTES = 131072


class Calls:
    """The calls of the package that both roles make."""

    lost = (InvalidStateError,)

    def why(self, pc):
        return f": {pc.failure}"

    def new_connection(self, connection):
        self.times.begin(connection)
        pc = RTCPeerConnection(RTCConfiguration(address=self.local))
        self.watch(connection, pc)
        return pc

    async def describe(self, pc, connection):
        await pc.setLocalDescription()
        local = pc.localDescription
        self.lab.signal(self.peer, description(connection, local.type, local.sdp))

    async def described(self, pc, connection, body):
        """Set the peer's description, and add its candidates from then on."""
        await pc.setRemoteDescription(RTCSessionDescription(sdp=body["sdp"], type=body["type"]))
        self.spawn(connection, self._take_candidates(pc, connection))

    async def _take_candidates(self, pc, connection):
        while True:
            body = await self.next_signal(connection)
            await pc.addIceCandidate(RTCIceCandidate(body["candidate"], body.get("sdp_mid"), body.get("sdp_mline_index")))


class Offerer(Calls, peers.Offerer):
    def __init__(self, lab, setup, params):
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
            raise ValueError(f"a message of {len(hello)} bytes, expected the hello")
        self.times.step(connection)
        await self.send(channel, self.sources[connection])

    async def send(self, channel, source):
        """Send the messages of verify, then as many messages as possible until stop."""
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


class Answerer(Calls, peers.Answerer):
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
