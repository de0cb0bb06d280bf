"""This package on both sides."""

import array
import asyncio
import contextlib
import pathlib

from netdyno_rtc import InvalidStateError, OperationError, RTCConfiguration, RTCIceCandidate
from netdyno_rtc import RTCPeerConnection, RTCSessionDescription
from support import Case, Heard, ours, signal

WAITING_BYTES = 1 << 20  # of one connection, before the peer is held back
WINDOW_BYTES = 16 << 20  # that the receive window may grow to


def threads():
    """Driver threads, found by name because they are not Python threads."""
    names = []
    for name in pathlib.Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            names.append(name.read_text(encoding="utf-8").strip())
    return names.count("netdyno-rtc")


async def until_no_thread_is_left():
    while threads():
        await asyncio.sleep(0.001)


class Channels(Case):
    async def test_a_sender_waits_for_a_slow_receiver(self):
        channel, other = await self.connect(ours(), ours())
        piece, sent = bytes(65_536), 0

        async def send():
            nonlocal sent
            while True:
                await channel.send_async(piece)
                sent += 1

        task = asyncio.create_task(send())
        # Until nothing moves any more: all buffers are full.
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.5)
        held = sent * len(piece)
        self.assertGreater(held, channel.highWaterMark)
        self.assertLess(held, 2 * WAITING_BYTES + WINDOW_BYTES + 2 * channel.highWaterMark)
        self.assertLessEqual(channel.bufferedAmount, channel.highWaterMark + len(piece))
        # It continues.
        taken = 0
        while taken < 4 * before:
            taken += len(await other.receive_many())
        self.assertGreater(sent, before)
        task.cancel()

    async def test_ten_megabytes_by_every_way_to_send_and_to_receive(self):
        pieces = [bytes([number]) * 16_384 for number in range(256)] * 3
        channel, other = await self.connect(ours(), ours())

        async def one_by_one():
            for piece in pieces:
                await channel.send_async(piece)

        async def many():
            for begin in range(0, len(pieces), 64):
                await channel.send_many(pieces[begin : begin + 64])

        async def by_event():
            rest = iter(pieces)
            done = asyncio.Event()
            channel.bufferedAmountLowThreshold = 1 << 17

            def fill():
                while channel.bufferedAmount <= channel.bufferedAmountLowThreshold:
                    piece = next(rest, None)
                    if piece is None:
                        return done.set()
                    channel.send(piece)

            channel.on("bufferedamountlow", fill)
            fill()
            await done.wait()
            channel.remove_listener("bufferedamountlow", fill)

        async def receive_each():
            return [await other.receive() for _ in pieces]

        async def receive_many():
            messages = []
            while len(messages) < len(pieces):
                messages += await other.receive_many(100)
            return messages

        async def iterate():
            messages = []
            async for message in other:
                messages.append(message)
                if len(messages) == len(pieces):
                    return messages

        async def by_handler():
            heard = Heard(other)
            messages = await heard.until(len(pieces))
            other.remove_all_listeners("message")
            return messages

        for send in (one_by_one, many, by_event):
            for receive in (receive_each, receive_many, iterate, by_handler):
                with self.subTest(f"{send.__name__}, {receive.__name__}"):
                    _, messages = await asyncio.gather(send(), receive())
                    self.assertEqual(messages, pieces)
        stats = await other.getStats()
        self.assertEqual((stats["messagesReceived"], stats["bytesReceived"]), (12 * len(pieces), 12 * len(pieces) * 16_384))

    async def test_buffer_protocol_objects_are_sent_as_bytes(self):
        channel, other = await self.connect(ours(), ours())
        changing = bytearray(b"before")
        for data in (changing, memoryview(b"abcdef")[::2], array.array("H", [1, 2])):
            channel.send(data)
        changing[:] = b"after!"
        self.assertEqual([await other.receive() for _ in range(3)], [b"before", b"ace", array.array("H", [1, 2]).tobytes()])
        for data in (7, None, [1], "\ud800"):
            with self.assertRaises((TypeError, UnicodeEncodeError)):
                channel.send(data)

    async def test_messages_wait_for_a_handler_and_outlive_the_channel(self):
        channel, other = await self.connect(ours(), ours())
        await channel.send_many(["one", "two", "three"])
        channel.close()
        await channel.wait_closed()
        await other.wait_closed()
        self.assertEqual(await other.receive(), "one")
        heard = Heard(other)
        self.assertEqual(await heard.until(2), ["two", "three"])
        other.remove_all_listeners("message")
        self.assertEqual([message async for message in other], [])
        with self.assertRaises(InvalidStateError):
            await other.receive()
        with self.assertRaises(InvalidStateError):
            await channel.send_async("late")

    async def test_close_follows_the_last_message(self):
        channel, other = await self.connect(ours(), ours())
        order = []
        other.on("message", lambda message: order.append(message))
        other.on("close", lambda: order.append("closed"))
        await channel.send_many([bytes([number % 256]) for number in range(1000)])
        channel.close()
        while "closed" not in order:
            await asyncio.sleep(0.01)
        self.assertEqual((len(order), order[-1]), (1001, "closed"))

    async def test_a_failing_handler_is_reported_and_messages_continue(self):
        channel, other = await self.connect(ours(), ours())
        heard = []

        @other.on("message")
        def take(message):
            heard.append(message)
            raise KeyError(message)

        await channel.send_many(["a", "b"])
        while len(heard) < 2:
            await asyncio.sleep(0.01)
        self.assertEqual([str(context["exception"]) for context in self.failures], ["'a'", "'b'"])
        self.failures.clear()

    async def test_a_later_handler_gets_the_remaining_messages(self):
        channel, other = await self.connect(ours(), ours())
        first = asyncio.get_running_loop().create_future()
        other.once("message", first.set_result)
        await channel.send_many(["one", "two", "three"])
        self.assertEqual(await first, "one")
        self.assertEqual(await other.receive(), "two")
        heard = Heard(other)
        self.assertEqual(await heard.until(1), ["three"])

    async def test_an_abandoned_channel_does_not_block_others(self):
        offerer, answerer = ours(), ours()
        channel, unread = await self.connect(offerer, answerer)
        arrived = asyncio.get_running_loop().create_future()
        answerer.remove_all_listeners("datachannel")
        answerer.on("datachannel", arrived.set_result)
        second = offerer.createDataChannel("second")
        read = await arrived
        for _ in range(4 * WAITING_BYTES // 16_384):
            channel.send(bytes(16_384))
        second.send("through")
        unread.close()
        self.assertEqual(await read.receive(), "through")

    async def test_the_buffer_limit_holds(self):
        channel, _ = await self.connect(ours(), ours())
        with self.assertRaisesRegex(OperationError, "await send_async"):
            for _ in range(1000):
                channel.send(bytes(262_144))
        self.assertLessEqual(channel.bufferedAmount, 64 << 20)

    async def test_buffered_amount_falls_to_zero_when_polled(self):
        channel, other = await self.connect(ours(), ours())
        Heard(other)
        channel.bufferedAmountLowThreshold = 1 << 20
        for _ in range(64):
            channel.send(bytes(65_536))
        while channel.bufferedAmount:
            await asyncio.sleep(0.001)

    async def test_many_connections_share_one_thread_and_it_ends_with_them(self):
        await until_no_thread_is_left()
        pairs = [(ours(), ours()) for _ in range(10)]
        channels = await asyncio.gather(*(self.connect(*pair) for pair in pairs))
        self.assertEqual(threads(), 1)
        for number, (channel, _) in enumerate(channels):
            channel.send(str(number))
        self.assertEqual([await other.receive() for _, other in channels], [str(number) for number in range(10)])
        await asyncio.gather(*(end.close() for pair in pairs for end in pair))
        self.assertEqual({end.connectionState for pair in pairs for end in pair}, {"closed"})
        await until_no_thread_is_left()

    async def test_state_events(self):
        offerer, answerer = ours(), ours()
        states = {"connection": [], "iceConnection": [], "signaling": []}
        for name, list_ in states.items():
            offerer.on(f"{name.lower()}statechange", lambda name=name, list_=list_: list_.append(getattr(offerer, f"{name}State")))
        await self.connect(offerer, answerer)
        self.assertEqual(states["connection"][-1], "connected")
        self.assertEqual(states["iceConnection"][-1], "completed")
        self.assertEqual(states["signaling"], ["have-local-offer", "stable"])
        await answerer.close()
        while offerer.connectionState != "closed":
            await asyncio.sleep(0.01)
        self.assertEqual(states["signaling"][-1], "closed")
        with self.assertRaises(InvalidStateError):
            offerer.createDataChannel("late")

    async def test_glare_and_ice_restart(self):
        here, there = ours(), ours()
        channel = here.createDataChannel("a")
        there.createDataChannel("b")
        self.addAsyncCleanup(here.close)
        self.addAsyncCleanup(there.close)
        await here.setLocalDescription()
        await there.setLocalDescription()
        await signal_onwards(here, there)
        await channel.wait_open()
        before = here.localDescription.sdp
        here.restartIce()
        await signal(here, there)
        self.assertNotEqual(ufrag(before), ufrag(here.localDescription.sdp))
        await channel.send_async("still there")

    async def test_candidates_trickle(self):
        offerer, answerer = ours(), ours()
        self.addAsyncCleanup(offerer.close)
        self.addAsyncCleanup(answerer.close)
        channel = offerer.createDataChannel("test")
        await offerer.setLocalDescription()
        await answerer.setRemoteDescription(offerer.localDescription)
        await answerer.setLocalDescription()
        lines = answerer.localDescription.sdp.splitlines(keepends=True)
        bare = "".join(line for line in lines if not line.startswith(("a=candidate", "a=end-of")))
        await offerer.setRemoteDescription(RTCSessionDescription(sdp=bare, type="answer"))
        for line in lines:
            if line.startswith("a=candidate"):
                await offerer.addIceCandidate(RTCIceCandidate(line.strip().removeprefix("a="), "0", 0))
        await offerer.addIceCandidate(None)
        await channel.wait_open()

    async def test_errors_name_cause_and_remedy(self):
        pc = ours()
        self.addAsyncCleanup(pc.close)
        channel = pc.createDataChannel("x")
        with self.assertRaisesRegex(InvalidStateError, "is connecting"):
            channel.send("early")
        with self.assertRaisesRegex(ValueError, "only one of them"):
            pc.createDataChannel("x", maxRetransmits=1, maxPacketLifeTime=1)
        with self.assertRaisesRegex(ValueError, "needs one, 0 to 65534"):
            pc.createDataChannel("x", negotiated=True)
        with self.assertRaisesRegex(ValueError, "violates a rule"):
            await pc.setRemoteDescription(RTCSessionDescription(sdp="nonsense", type="offer"))
        with self.assertRaisesRegex(InvalidStateError, "no local offer"):
            await pc.setRemoteDescription(RTCSessionDescription(sdp="", type="answer"))
        with self.assertRaisesRegex(InvalidStateError, "no remote offer"):
            await pc.createAnswer()
        with self.assertRaisesRegex(ValueError, "not an IP address"):
            RTCPeerConnection(RTCConfiguration(address="here")).createDataChannel("x")
        with self.assertRaisesRegex(OSError, "cannot bind UDP port"):
            RTCPeerConnection(RTCConfiguration(address="203.0.113.1")).createDataChannel("x")

    def test_a_missing_event_loop_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "call this in a coroutine"):
            ours().createDataChannel("x")


def ufrag(sdp):
    return next(line for line in sdp.splitlines() if line.startswith("a=ice-ufrag:"))


async def signal_onwards(here, there):
    """Both have offered; the second side gives way."""
    await there.setRemoteDescription(here.localDescription)
    await there.setLocalDescription()
    await here.setRemoteDescription(there.localDescription)
