"""One driver for each event loop and settings: who has news is told by one readable file descriptor."""

from __future__ import annotations

import asyncio
from typing import Protocol

from pyee.asyncio import AsyncIOEventEmitter

from ._native import Driver, Peer
from .description import Settings

# Bits of news, as `src/bell.rs` has them.
OPEN, READABLE, LOW, ROOM, CLOSED, STATE, INCOMING, GATHERED = (1 << bit for bit in range(8))


class Member(Protocol):
    """What can have news."""

    def _on_news(self, news: int) -> None: ...


class Hub:
    """A driver, and those who wait for its news. It lives while it has connections."""

    _all: dict[tuple[asyncio.AbstractEventLoop, Settings], Hub] = {}

    @classmethod
    def of(cls, settings: Settings) -> Hub:
        """The hub of the event loop that this is called in."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError as error:
            raise RuntimeError("no event loop is running: call this in a coroutine") from error
        for key in [key for key in cls._all if key[0].is_closed()]:
            cls._all.pop(key).driver.end()
        key = (loop, settings)
        if key not in cls._all:
            cls._all[key] = cls(key)
        return cls._all[key]

    def __init__(self, key: tuple[asyncio.AbstractEventLoop, Settings]) -> None:
        self.loop, settings = key
        self.driver = Driver(*settings)
        self._key = key
        self._members: dict[int, Member] = {}
        self._peers = 0
        self.loop.add_reader(self.driver.fileno(), self._look)

    def add_peer(self, own_port: bool, member: Member) -> Peer:
        """A new connection."""
        try:
            peer = self.driver.add(own_port)
            self.add(peer.number, member)
            self._peers += 1
            return peer
        finally:
            self._end_if_idle()

    def remove_peer(self, peer: Peer) -> None:
        if self._members.pop(peer.number, None) is not None:
            self._peers -= 1
            self._end_if_idle()

    def add(self, number: int, member: Member) -> None:
        self._members[number] = member

    def remove(self, number: int) -> None:
        self._members.pop(number, None)

    def _end_if_idle(self) -> None:
        if not self._peers and self._all.pop(self._key, None) is not None:
            self.loop.remove_reader(self.driver.fileno())
            self.driver.end()

    def _look(self) -> None:
        for number, news in self.driver.take():
            member = self._members.get(number)
            if member is not None:
                member._on_news(news)


class Emitter(AsyncIOEventEmitter):
    """An emitter whose handlers' failures are the event loop's to report, and keep nobody else from being told."""

    def _tell(self, event: str, *args: object) -> bool:
        """Whether there is a handler."""
        try:
            return self.emit(event, *args)
        except Exception as error:
            context = {"message": f"a handler of {event!r} failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            return True


class Waiters:
    """Coroutines that wait for something; all are woken at a time, and look for themselves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: set[asyncio.Future[None]] = set()

    async def wait(self) -> None:
        future = self._loop.create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
