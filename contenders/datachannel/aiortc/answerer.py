"""The role that answers the offers and receives messages."""

from calls import Calls
from netdyno_contender import HELLO, peers


class Answerer(Calls, peers.Answerer):
    remote_type = "offer"

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

        # aiortc delivers channels that are already open.
        self.times.step(connection)
        channel.send(HELLO)
