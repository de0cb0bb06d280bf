"""One driver for each event loop and settings. A readable file descriptor signals pending events."""

from __future__ import annotations

import asyncio
from typing import Protocol

from pyee.asyncio import AsyncIOEventEmitter

from ._native import Driver, Peer
from .description import Settings

# Bits of events, as in `src/events.rs`.
OPEN, READABLE, LOW, ROOM, CLOSED, STATE, INCOMING, GATHERED = (1 << bit for bit in range(8))


class Member(Protocol):
    """A channel or connection that handles events."""

    def _on_events(self, events: int) -> None: ...


class Hub:
    """A driver and the members to which it dispatches events. It exists while it has connections."""

    _all: dict[tuple[asyncio.AbstractEventLoop, Settings], Hub] = {}

    @classmethod
    def for_running_loop(cls, settings: Settings) -> Hub:
        """The hub of the running event loop for these settings."""
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
        self.loop.add_reader(self.driver.fileno(), self._dispatch)

    def add_peer(self, own_port: bool, member: Member) -> Peer:
        """Create a connection."""
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

    def _dispatch(self) -> None:
        for number, events in self.driver.take():
            member = self._members.get(number)
            if member is not None:
                member._on_events(events)


class Emitter(AsyncIOEventEmitter):
    """An emitter that reports exceptions of handlers to the event loop and continues."""

    def _emit_safely(self, event: str, *args: object) -> bool:
        """Call the handlers; return whether there are any."""
        try:
            return self.emit(event, *args)
        except Exception as error:
            context = {"message": f"a handler of {event!r} failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            return True


class Waiters:
    """Coroutines that wait for one condition. They are woken together, and each checks the condition."""

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
