"""This package on one side, aiortc on the other, in both roles."""

import hashlib
import random

from support import Case, Heard, ours, theirs

PIECE_BYTES = 65_536
PIECES = 160


class WithAiortc(Case):
    async def both_ways(self, check):
        for name, ends in (("our offer", (ours(), theirs())), ("aiortc's offer", (theirs(), ours()))):
            with self.subTest(name):
                channel, other = await self.connect(*ends)
                await check(channel, other)

    async def test_text_bytes_and_empty_messages(self):
        said = ["hello", "", b"\x00\xff", b"", "\u00e4\U0001f600", bytes(range(256)) * 200]

        async def check(channel, other):
            there, here = Heard(other), Heard(channel)
            for message in said:
                channel.send(message)
            self.assertEqual(await there.until(len(said)), said)
            for message in said:
                other.send(message)
            self.assertEqual(await here.until(len(said)), said)

        await self.both_ways(check)

    async def test_ten_megabytes_each_way(self):
        pieces = [random.Random(seed).randbytes(PIECE_BYTES) for seed in range(4)] * (PIECES // 4)
        digest = hashlib.sha256(b"".join(pieces)).digest()

        async def check(channel, other):
            for source, sink in ((channel, other), (other, channel)):
                heard = Heard(sink)
                for piece in pieces:
                    source.send(piece)
                messages = await heard.until(PIECES)
                self.assertEqual(hashlib.sha256(b"".join(messages)).digest(), digest)
                sink.remove_all_listeners("message")

        await self.both_ways(check)

    async def test_a_channel_is_closed_by_either_side(self):
        for closes_first in (0, 1):

            async def check(*ends, closes_first=closes_first):
                heard = [Heard(end) for end in ends]
                ends[closes_first].close()
                for end in heard:
                    await end.closed.wait()
                self.assertEqual([end.readyState for end in ends], ["closed", "closed"])

            await self.both_ways(check)

    async def test_a_connection_is_closed_by_either_side(self):
        for makes in ((ours, theirs), (theirs, ours)):
            for closes_first in (0, 1):
                ends = [make() for make in makes]
                channels = await self.connect(*ends)
                heard = Heard(channels[1 - closes_first])
                await ends[closes_first].close()
                await heard.closed.wait()

    async def test_channel_options_are_exchanged(self):
        async def check(channel, other):
            self.assertEqual((other.label, other.ordered, other.protocol), ("test", True, ""))
            self.assertEqual(channel.id, other.id)

        await self.both_ways(check)
        options = {"ordered": False, "maxRetransmits": 3, "protocol": "p"}
        for ends in ((ours(), theirs()), (theirs(), ours())):
            _, other = await self.connect(*ends, **options)
            self.assertEqual((other.ordered, other.maxRetransmits, other.protocol), (False, 3, "p"))
            self.assertIsNone(other.maxPacketLifeTime)

    async def test_a_negotiated_channel(self):
        ends = ours(), theirs()
        await self.connect(*ends)
        agreed = [end.createDataChannel("agreed", negotiated=True, id=100) for end in ends]
        heard = Heard(agreed[1])
        await agreed[0].send_async("over it")
        self.assertEqual(await heard.until(1), ["over it"])

    async def test_messages_longer_than_aiortcs_limit_are_rejected(self):
        offerer = ours()
        channel, _ = await self.connect(offerer, theirs())
        limit = offerer.maxMessageSize
        self.assertIn(f"a=max-message-size:{limit}\r\n", offerer.remoteDescription.sdp)
        with self.assertRaisesRegex(ValueError, f"{limit + 1} bytes, but the peer accepts {limit}"):
            channel.send(bytes(limit + 1))
