"""The role that creates the connections and sends messages."""

import asyncio

from calls import Calls
from netdyno_contender import HELLO, peers

# Messages after which a sender yields to the event loop: the high-water mark may allow a million small messages.
BURST_MESSAGES = 64


class Offerer(Calls, peers.Offerer):
    remote_type = "answer"

    async def run(self, connection):
        pc = self.new_connection(connection)
        channel = pc.createDataChannel("netdyno", ordered=self.params.ordered)
        self.attach(channel, connection)
        await self.describe(pc, connection, await pc.createOffer())
        answer = await self.remote_description(connection, await self.next_signal(connection))
        await pc.setRemoteDescription(answer)
        await self.add_candidates(pc, connection)

    def attach(self, channel, connection):
        low = asyncio.Event()
        channel.bufferedAmountLowThreshold = self.params.high_water_bytes // 2
        channel.on("bufferedamountlow", low.set)

        @channel.on("open")
        def _():
            self.times.step(connection)
            self.spawn(connection, self.send(channel, self.sources[connection], low))

        @channel.on("message")
        def _(message):
            if message != HELLO:
                self.fail(connection, f"a message of {len(message)} bytes, expected the hello")
            self.times.step(connection)

        @channel.on("close")
        def _():
            if not self.may_lose_peer:
                self.fail(connection, "the channel was closed")

    async def send(self, channel, source, low):
        """Send the messages of verify, then as many messages as possible until stop."""
        await self.verify.wait()
        await self.send_while(lambda: source.messages < self.params.verify_messages, channel, source, low)
        await self.flood.wait()
        await self.send_while(lambda: not self.may_lose_peer, channel, source, low)

    async def send_while(self, wanted, channel, source, low):
        high_water = self.params.high_water_bytes
        while wanted():
            if channel.bufferedAmount >= high_water:
                low.clear()
                await low.wait()
            channel.send(source.message())
            source.sent()
            if source.messages % BURST_MESSAGES == 0:
                await asyncio.sleep(0)
