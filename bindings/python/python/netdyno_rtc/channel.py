"""A data channel."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from ._native import Channel, InvalidStateError
from .loop import CLOSED, LOW, OPEN, READABLE, ROOM, Emitter, Hub, Waiters

if TYPE_CHECKING:
    from ._native import _Data as Data, _Message as Message

#: Messages passed to handlers before the event loop runs other tasks.
BATCH = 256


class RTCDataChannel(Emitter):
    """W3C's RTCDataChannel, with coroutines for asyncio.

    Events: ``open``, ``message``, ``bufferedamountlow``, ``close``. Messages are passed to the handlers of ``message``.
    Without a handler they are kept for ``receive`` and ``async for``. More than 1 MiB of unread messages stops the peer,
    on all channels of the connection.
    """

    def __init__(self, hub: Hub, native: Channel) -> None:
        super().__init__()
        self._hub, self._native = hub, native
        self._readers, self._writers, self._watchers = Waiters(hub.loop), Waiters(hub.loop), Waiters(hub.loop)
        self._ahead: deque[Message] = deque()  # taken from the native half in a batch, and not yet returned
        self._delivers = self._has_closed = False
        #: ``send_async`` waits while more bytes than this are buffered.
        self.highWaterMark = 1 << 20
        hub.add(native.number, self)
        self.on("new_listener", self._on_listener)

    # -- W3C --

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
        """Bytes passed to ``send`` that have not been sent for the first time. An empty message counts as one byte."""
        return self._native.buffered

    @property
    def bufferedAmountLowThreshold(self) -> int:
        """The buffered amount at or below which ``bufferedamountlow`` is raised."""
        return self._native.low

    @bufferedAmountLowThreshold.setter
    def bufferedAmountLowThreshold(self, value: int) -> None:
        if not 0 <= value <= 0xFFFFFFFF:
            raise ValueError(f"bufferedAmountLowThreshold: {value} is not within 0 to 4294967295")
        self._native.low = value

    def send(self, data: Data) -> None:
        """Send ``str`` as text, and objects with the buffer protocol as bytes. Returns at once; another thread sends.

        Raises ``InvalidStateError`` if the channel is not open, ``ValueError`` if the message is longer than the peer
        accepts, and ``OperationError`` if more than 64 MiB would be buffered.
        """
        self._native.send(data)

    def close(self) -> None:
        """Close the channel once everything buffered has been sent. Unread and later messages are discarded."""
        self._native.close()

    # -- asyncio --

    async def send_async(self, data: Data) -> None:
        """As ``send``, but wait until the channel is open and while more than ``highWaterMark`` bytes are buffered."""
        await self._room()
        self._native.send(data)

    async def send_many(self, messages: Sequence[Data]) -> None:
        """As ``send_async`` for each message, in one call of the native half."""
        await self._room()
        self._native.send_many(messages)

    async def receive(self) -> Message:
        """The next message. Raises ``InvalidStateError`` once the channel is closed and all messages have been taken."""
        messages = await self.receive_many(1)
        if not messages:
            raise InvalidStateError("the data channel is closed")
        return messages[0]

    async def receive_many(self, max: int = BATCH) -> list[Message]:
        """Wait for a message, and return up to ``max`` available ones. An empty list: the channel is closed, and all
        messages have been taken."""
        while True:
            if self._ahead:
                return [self._ahead.popleft() for _ in range(min(max, len(self._ahead)))]
            # In this order, because messages are queued before the channel is marked as closed.
            is_closed = self.readyState == "closed"
            messages = self._native.receive(max)
            if messages or is_closed:
                return messages
            await self._readers.wait()

    def __aiter__(self) -> RTCDataChannel:
        return self

    async def __anext__(self) -> Message:
        """The next message, until the channel is closed and all messages have been taken."""
        if not self._ahead:
            self._ahead.extend(await self.receive_many())
        if not self._ahead:
            raise StopAsyncIteration
        return self._ahead.popleft()

    async def wait_open(self) -> None:
        """Wait until the channel is open. Raises ``InvalidStateError`` if it never will be."""
        while self.readyState == "connecting":
            await self._watchers.wait()
        if self.readyState != "open":
            raise InvalidStateError(f"the data channel is {self.readyState}")

    async def wait_closed(self) -> None:
        """Wait until either side has closed the channel. After a local close, everything was delivered if the connection
        lives on."""
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

    # -- events --

    async def _room(self) -> None:
        if self.readyState == "connecting":
            await self.wait_open()
        if not self._native.has_room(self.highWaterMark):
            # Wake at half of it, so that messages are sent in batches.
            while not self._native.has_room(self.highWaterMark // 2):
                await self._writers.wait()

    def _on_events(self, events: int) -> None:
        if events & (OPEN | CLOSED):
            self._watchers.wake()
        if events & OPEN:
            self._emit_safely("open")
        if events & (READABLE | CLOSED):
            self._readers.wake()
            self._deliver()
        if events & LOW:
            self._emit_safely("bufferedamountlow")
        if events & ROOM:
            self._writers.wake()

    def _on_listener(self, event: str, _: Callable[..., Any]) -> None:
        if event == "message":
            self._hub.loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        """Pass waiting messages to the handlers, followed by ``close``."""
        if self._delivers:
            return
        is_closed = self.readyState == "closed"
        if self.listeners("message"):
            taken = self._native.receive(BATCH)
            self._ahead.extend(taken)
            self._delivers = True
            try:
                # A handler may remove itself: the remaining messages wait for the next one.
                while self._ahead and self._emit_safely("message", self._ahead[0]):
                    self._ahead.popleft()
            finally:
                self._delivers = False
            if len(taken) == BATCH:
                self._hub.loop.call_soon(self._deliver)
                return
        if is_closed and not self._has_closed:
            self._has_closed = True
            self._hub.remove(self._native.number)
            self._emit_safely("close")
