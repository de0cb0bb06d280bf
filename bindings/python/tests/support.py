"""Helpers for the tests: two sides in one event loop, this package or aiortc, on the loopback address."""

from __future__ import annotations

import asyncio
import unittest
from unittest import mock

import aioice.ice
import aiortc
import netdyno_rtc
from netdyno_rtc import RTCConfiguration, RTCPeerConnection

#: A guard against hanging.
LIMIT_SECONDS = 60


def ours(**settings):
    return RTCPeerConnection(RTCConfiguration(address="127.0.0.1", **settings))


def theirs():
    # Without a list of servers, aiortc uses a public STUN server.
    return aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=[]))


def translated(description, connection):
    """Convert a description to the other package's class."""
    package = netdyno_rtc if isinstance(connection, RTCPeerConnection) else aiortc
    return package.RTCSessionDescription(sdp=description.sdp, type=description.type)


async def signal(offerer, answerer):
    """Exchange offer and answer."""
    await offerer.setLocalDescription(await offerer.createOffer())
    await answerer.setRemoteDescription(translated(offerer.localDescription, answerer))
    await answerer.setLocalDescription(await answerer.createAnswer())
    await offerer.setRemoteDescription(translated(answerer.localDescription, offerer))


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        # aioice offers no loopback address, but this machine may have no other.
        patch = mock.patch.object(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
        patch.start()
        self.addCleanup(patch.stop)
        self.failures = []

    async def asyncSetUp(self):
        loop = asyncio.get_running_loop()
        loop.set_debug(False)  # it would report every turn that takes long
        loop.set_exception_handler(lambda _, context: self.failures.append(context))
        watchdog = loop.call_later(LIMIT_SECONDS, lambda: [task.cancel() for task in asyncio.all_tasks()])
        self.addCleanup(watchdog.cancel)
        self.addAsyncCleanup(self.no_failures)

    async def no_failures(self):
        self.assertEqual(self.failures, [])

    async def connect(self, offerer, answerer, **options):
        """A channel of the offerer and its other end. Both connections are closed when the test ends."""
        self.addAsyncCleanup(answerer.close)
        self.addAsyncCleanup(offerer.close)
        arrived = asyncio.get_running_loop().create_future()
        answerer.on("datachannel", arrived.set_result)
        channel = offerer.createDataChannel("test", **options)
        opened = asyncio.Event()
        channel.on("open", opened.set)
        await signal(offerer, answerer)
        other = await arrived
        await opened.wait()
        return channel, other


class Heard:
    """The messages received on a channel of either package."""

    def __init__(self, channel):
        self.messages, self._news = [], asyncio.Event()
        self.closed = asyncio.Event()
        channel.on("message", self._take)
        channel.on("close", self.closed.set)

    def _take(self, message):
        self.messages.append(message)
        self._news.set()

    async def until(self, count):
        while len(self.messages) < count:
            self._news.clear()
            await self._news.wait()
        return self.messages
