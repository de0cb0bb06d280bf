"""A data channel."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from ._native import Channel, InvalidStateError
from .loop import CLOSED, LOW, OPEN, READABLE, ROOM, Emitter, Hub, Waiters

if TYPE_CHECKING:
    from ._native import _Data as Data, _Message as Message

#: Messages that handlers are given before the event loop sees to others.
BATCH = 256


class RTCDataChannel(Emitter):
    """W3C's RTCDataChannel, and what asyncio has more.

    Events: ``open``, ``message``, ``bufferedamountlow``, ``close``. Messages go to the handlers of ``message``; while there is none they wait
    for one, or for ``receive`` and ``async for``. What nobody takes holds the peer back, on all channels of the connection.
    """

    def __init__(self, hub: Hub, native: Channel) -> None:
        super().__init__()
        self._hub, self._native = hub, native
        self._readers, self._writers, self._watchers = Waiters(hub.loop), Waiters(hub.loop), Waiters(hub.loop)
        self._ahead: deque[Message] = deque()  # taken in a batch, and not yet given
        self._delivers = self._is_told = False
        #: Bytes that may be buffered before ``send_async`` waits.
        self.highWaterMark = 1 << 20
        hub.add(native.number, self)
        self.on("new_listener", self._on_listener)

    # -- as W3C has it --

    @property
    def label(self) -> str:
        return self._native.label

    @property
    def protocol(self) -> str:
        return self._native.protocol

    @property
    def ordered(self) -> bool:
        return self._native.ordered

    @property
    def negotiated(self) -> bool:
        return self._native.negotiated

    @property
    def maxPacketLifeTime(self) -> Optional[int]:
        return self._native.lifetime_ms

    @property
    def maxRetransmits(self) -> Optional[int]:
        return self._native.retransmits

    @property
    def id(self) -> Optional[int]:
        """The SCTP stream, once it is known."""
        return self._native.id

    @property
    def readyState(self) -> str:
        """``connecting``, ``open``, ``closing`` or ``closed``."""
        return self._native.state

    @property
    def bufferedAmount(self) -> int:
        """Bytes that were given to ``send`` and have not been sent for the first time. An empty message counts as one."""
        return self._native.buffered

    @property
    def bufferedAmountLowThreshold(self) -> int:
        """When the buffered amount falls to this or below, there is an event ``bufferedamountlow``."""
        return self._native.low

    @bufferedAmountLowThreshold.setter
    def bufferedAmountLowThreshold(self, value: int) -> None:
        if not 0 <= value <= 0xFFFFFFFF:
            raise ValueError(f"bufferedAmountLowThreshold: {value} is not within 0 to 4294967295")
        self._native.low = value

    def send(self, data: Data) -> None:
        """Send ``str`` as text, and what has the buffer protocol as bytes. Does not wait: another thread sends it.

        ``InvalidStateError`` if the channel is not open, ``ValueError`` if the message is longer than the peer takes, ``OperationError`` if more than
        64 MiB would be buffered.
        """
        self._native.send(data)

    def close(self) -> None:
        """Close it once all that is buffered has been sent. Who closes reads no more: what waits is thrown away, and what comes."""
        self._native.close()

    # -- what asyncio has more --

    async def send_async(self, data: Data) -> None:
        """As ``send``, but waits while more than ``highWaterMark`` bytes are buffered, or until the channel is open."""
        await self._room()
        self._native.send(data)

    async def send_many(self, messages: Sequence[Data]) -> None:
        """As ``send_async`` for each, at the cost of one."""
        await self._room()
        self._native.send_many(messages)

    async def receive(self) -> Message:
        """The next message; ``InvalidStateError`` once the channel is closed and all that came has been taken."""
        messages = await self.receive_many(1)
        if not messages:
            raise InvalidStateError("the data channel is closed")
        return messages[0]

    async def receive_many(self, max: int = BATCH) -> list[Message]:
        """Waits for a message, and gives all that are there, up to ``max``. None are left of a closed channel if it gives none."""
        while True:
            if self._ahead:
                return [self._ahead.popleft() for _ in range(min(max, len(self._ahead)))]
            # In this order: what came stands there before the end does.
            is_closed = self.readyState == "closed"
            messages = self._native.receive(max)
            if messages or is_closed:
                return messages
            await self._readers.wait()

    def __aiter__(self) -> RTCDataChannel:
        return self

    async def __anext__(self) -> Message:
        """The next message, until the channel is closed and all that came has been taken."""
        if not self._ahead:
            self._ahead.extend(await self.receive_many())
        if not self._ahead:
            raise StopAsyncIteration
        return self._ahead.popleft()

    async def wait_open(self) -> None:
        """Waits until it is open; ``InvalidStateError`` if it never will be."""
        while self.readyState == "connecting":
            await self._watchers.wait()
        if self.readyState != "open":
            raise InvalidStateError(f"the data channel is {self.readyState}")

    async def wait_closed(self) -> None:
        """Waits until it is closed, by either side. After a close of ours, of a connection that lives on, all has arrived then."""
        while self.readyState != "closed":
            await self._watchers.wait()

    async def getStats(self) -> dict[str, object]:
        """Statistics, by W3C's names."""
        return {
            "type": "data-channel",
            "label": self.label,
            "dataChannelIdentifier": self.id,
            "state": self.readyState,
            **self._native.stats(),
        }

    # -- what happens --

    async def _room(self) -> None:
        if self.readyState == "connecting":
            await self.wait_open()
        if not self._native.has_room(self.highWaterMark):
            # Not at each message that leaves: half of it is a batch.
            while not self._native.has_room(self.highWaterMark // 2):
                await self._writers.wait()

    def _on_news(self, news: int) -> None:
        if news & (OPEN | CLOSED):
            self._watchers.wake()
        if news & OPEN:
            self._tell("open")
        if news & (READABLE | CLOSED):
            self._readers.wake()
            self._deliver()
        if news & LOW:
            self._tell("bufferedamountlow")
        if news & ROOM:
            self._writers.wake()

    def _on_listener(self, event: str, _: Callable[..., Any]) -> None:
        if event == "message":
            self._hub.loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        """Give the handlers what waits, and the end behind it."""
        if self._delivers:
            return
        is_closed = self.readyState == "closed"
        if self.listeners("message"):
            taken = self._native.receive(BATCH)
            self._ahead.extend(taken)
            self._delivers = True
            try:
                # A handler may be the last: what is left waits for the next.
                while self._ahead and self._tell("message", self._ahead[0]):
                    self._ahead.popleft()
            finally:
                self._delivers = False
            if len(taken) == BATCH:
                self._hub.loop.call_soon(self._deliver)
                return
        if is_closed and not self._is_told:
            self._is_told = True
            self._hub.remove(self._native.number)
            self._tell("close")
