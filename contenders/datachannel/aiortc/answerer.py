"""The role that answers the offers and receives."""

from netdyno_contender import HELLO, Sink
from peers import Peers


class Answerer(Peers):
    peer, remote_type, steps = "offerer", "offer", 1

    def __init__(self, lab, setup, params):
        self.sink = Sink(setup, params)
        super().__init__(lab, setup, params)

    async def run(self, connection):
        first = await self.next_signal(connection)
        pc = self.new_connection(connection)

        @pc.on("datachannel")
        def _(channel):
            self.attach(channel, connection)

        await pc.setRemoteDescription(await self.remote_description(connection, first))
        await self.describe(pc, connection, await pc.createAnswer())
        await self.add_candidates(pc, connection)

    def attach(self, channel, connection):
        @channel.on("message")
        def _(message):
            try:
                self.sink.take(connection, message)
            except (TypeError, ValueError) as error:
                self.lab.failed(str(error))

        # aiortc hands out a channel that is open.
        self.times.step(connection)
        channel.send(HELLO)

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

    def stop(self):
        pass
