"""A peer connection."""

from __future__ import annotations

from typing import Optional

from ._native import Channel, InvalidStateError, Peer
from .channel import RTCDataChannel
from .description import RTCConfiguration, RTCIceCandidate, RTCPeerConnectionIceErrorEvent, RTCSessionDescription
from .loop import GATHERED, INCOMING, STATE, Emitter, Hub, Waiters
from .stats import RTCStatsReport, report_of


class RTCPeerConnection(Emitter):
    """W3C's RTCPeerConnection, for data channels.

    Events: ``datachannel``, ``connectionstatechange``, ``iceconnectionstatechange``, ``icegatheringstatechange``,
    ``signalingstatechange``; and ``icecandidateerror``, with an ``RTCPeerConnectionIceErrorEvent``, for a server that
    failed. ``setLocalDescription`` waits until ``localDescription`` contains all candidates. The peer's candidates may be
    trickled.
    """

    def __init__(self, configuration: Optional[RTCConfiguration] = None) -> None:
        super().__init__()
        self._configuration = configuration or RTCConfiguration()
        self._hub: Optional[Hub] = None
        self._native: Optional[Peer] = None
        self._watchers: Optional[Waiters] = None
        self._signaling, self._gathering = "stable", "new"
        self._connection, self._ice = "new", "new"
        self._failure: Optional[str] = None
        self._local: Optional[RTCSessionDescription] = None
        self._remote: Optional[RTCSessionDescription] = None
        self._answer: Optional[RTCSessionDescription] = None
        self._has_offered = self._restarts = False

    # -- state --

    @property
    def connectionState(self) -> str:
        """``new``, ``connecting``, ``connected``, ``disconnected``, ``failed`` or ``closed``."""
        return self._connection

    @property
    def iceConnectionState(self) -> str:
        """``new``, ``checking``, ``completed``, ``disconnected``, ``failed`` or ``closed``."""
        return self._ice

    @property
    def iceGatheringState(self) -> str:
        """``new``, ``gathering`` (while servers are queried) or ``complete``."""
        return self._gathering

    @property
    def signalingState(self) -> str:
        """``stable``, ``have-local-offer``, ``have-remote-offer`` or ``closed``."""
        return self._signaling

    @property
    def failure(self) -> Optional[str]:
        """The reason why the connection failed, if it did."""
        return self._failure

    @property
    def localDescription(self) -> Optional[RTCSessionDescription]:
        return self._local

    @property
    def remoteDescription(self) -> Optional[RTCSessionDescription]:
        return self._remote

    @property
    def maxMessageSize(self) -> int:
        """The longest message that the peer accepts, in bytes: 65,536 until its description is known."""
        return self._native.max_message_bytes if self._native else 65_536

    # -- methods --

    def createDataChannel(
        self,
        label: str,
        maxPacketLifeTime: Optional[int] = None,
        maxRetransmits: Optional[int] = None,
        ordered: bool = True,
        protocol: str = "",
        negotiated: bool = False,
        id: Optional[int] = None,
    ) -> RTCDataChannel:
        """Create a data channel. ``id`` is for ``negotiated`` channels, which both sides create."""
        if maxPacketLifeTime is not None and maxRetransmits is not None:
            raise ValueError("maxPacketLifeTime and maxRetransmits: only one of them is allowed")
        if negotiated and id is None:
            raise ValueError("id: a negotiated channel needs one, 0 to 65534, the same on both sides")
        hub, native = self._begin(own_port=True)
        stream = id if negotiated else None
        channel = native.create_channel(label, ordered, maxPacketLifeTime, maxRetransmits, protocol, stream)
        return RTCDataChannel(hub, channel)

    async def createOffer(self) -> RTCSessionDescription:
        """Create an offer with the candidates known so far. Create a channel first; without one there is nothing to
        connect for."""
        if self._signaling not in ("stable", "have-local-offer"):
            raise InvalidStateError(f"cannot create an offer: the signaling state is {self._signaling}")
        _, native = self._begin(own_port=True)
        if self._has_offered and self._restarts:
            native.rollback()
        sdp = native.create_offer(self._restarts)
        self._has_offered, self._restarts = True, False
        return RTCSessionDescription(sdp=sdp, type="offer")

    async def createAnswer(self) -> RTCSessionDescription:
        """The answer to the remote offer."""
        if self._signaling != "have-remote-offer" or self._answer is None:
            raise InvalidStateError(f"no remote offer to answer: the signaling state is {self._signaling}")
        return self._answer

    async def setLocalDescription(self, sessionDescription: Optional[RTCSessionDescription] = None) -> None:
        """Set the result of ``createOffer`` or ``createAnswer``. Without an argument, create the one that is due.

        Waits until every STUN and TURN server has answered or 10 s have passed. ``localDescription`` then contains all
        candidates.
        """
        description = sessionDescription
        if description is None:
            is_answer = self._signaling == "have-remote-offer"
            description = await (self.createAnswer() if is_answer else self.createOffer())
        if description.type == "rollback":
            self._roll_back()
            return
        due = "have-remote-offer" if description.type == "answer" else "stable"
        if self._signaling != due and not (description.type == "offer" and self._signaling == "have-local-offer"):
            raise InvalidStateError(f"cannot set an {description.type}: the signaling state is {self._signaling}")
        self._local = description
        self._signal("stable" if description.type == "answer" else "have-local-offer")
        await self._gather()

    async def setRemoteDescription(self, sessionDescription: RTCSessionDescription) -> None:
        """Set the peer's offer or answer. A remote offer withdraws a pending local one."""
        description = sessionDescription
        if self._signaling == "closed":
            raise InvalidStateError("the peer connection is closed")
        if description.type == "rollback":
            raise InvalidStateError("a remote offer cannot be rolled back: answer it")
        if description.type == "offer":
            _, native = self._begin(own_port=False)
            if self._has_offered:
                self._roll_back()
            self._answer = RTCSessionDescription(sdp=native.accept_offer(description.sdp), type="answer")
            self._remote = description
            self._signal("have-remote-offer")
            return
        if self._signaling != "have-local-offer" or self._native is None:
            raise InvalidStateError(f"no local offer awaits an answer: the signaling state is {self._signaling}")
        self._native.accept_answer(description.sdp)
        self._has_offered, self._remote = False, description
        self._signal("stable")

    async def addIceCandidate(self, candidate: Optional[RTCIceCandidate]) -> None:
        """Add a trickled candidate of the peer; ``None`` ends the candidates."""
        if self._native is None or self._remote is None:
            raise InvalidStateError("a candidate needs a remote description: set that first")
        self._native.add_candidate(candidate.candidate if candidate else "")

    def restartIce(self) -> None:
        """Make the next offer restart ICE. This also recovers a connection within a minute after it failed."""
        self._restarts = True

    async def getStats(self) -> RTCStatsReport:
        """All statistics, by W3C's names; empty before the first channel or description. Raises ``InvalidStateError``
        once the connection is over."""
        return report_of(self._native.report() if self._native else ())

    async def close(self) -> None:
        """Close the connection and notify the peer. Buffered data is lost: to have it delivered, close the channels first
        and wait until they are closed."""
        self._signal("closed")
        if self._native is None or self._watchers is None:
            self._connection = self._ice = "closed"
            return
        self._native.close()
        while not self._native.is_over:
            await self._watchers.wait()
        self._on_events(STATE)

    # -- events --

    def _begin(self, own_port: bool) -> tuple[Hub, Peer]:
        if self._signaling == "closed":
            raise InvalidStateError("the peer connection is closed")
        if self._hub is None or self._native is None:
            self._hub = Hub.for_running_loop(self._configuration._settings())
            self._native = self._hub.add_peer(own_port, self)
            self._watchers = Waiters(self._hub.loop)
        return self._hub, self._native

    async def _gather(self) -> None:
        """Wait until gathering is complete, and add the new candidates to the description."""
        if self._native is None or self._watchers is None:
            return
        described = self._local
        while self._native.is_gathering:
            self._gathers("gathering")
            await self._watchers.wait()
        if described is not None and self._local is described:
            sdp = self._native.local_description()
            self._local = RTCSessionDescription(sdp=sdp, type=described.type) if sdp else described
        self._gathers("complete")

    def _gathers(self, state: str) -> None:
        if state != self._gathering:
            self._gathering = state
            self._emit_safely("icegatheringstatechange")

    def _roll_back(self) -> None:
        if not self._has_offered or self._native is None:
            raise InvalidStateError("no local offer to roll back")
        self._native.rollback()
        self._has_offered = False
        self._signal("stable")

    def _signal(self, state: str) -> None:
        if state != self._signaling:
            self._signaling = state
            self._emit_safely("signalingstatechange")

    def _on_events(self, events: int) -> None:
        if self._native is None or self._hub is None or self._watchers is None:
            return
        if events & STATE:
            connection, ice, self._failure = self._native.state
            if ice != self._ice:
                self._ice = ice
                self._emit_safely("iceconnectionstatechange")
            if connection != self._connection:
                self._connection = connection
                self._emit_safely("connectionstatechange")
            if self._native.is_over:
                self._signal("closed")
                self._watchers.wake()
                self._hub.remove_peer(self._native)
        if events & GATHERED:
            for failure in self._native.server_failures():
                self._emit_safely("icecandidateerror", RTCPeerConnectionIceErrorEvent(*failure))
            self._watchers.wake()
        if events & INCOMING:
            for native in self._native.incoming():
                self._announce(self._hub, native)

    def _announce(self, hub: Hub, native: Channel) -> None:
        self._emit_safely("datachannel", RTCDataChannel(hub, native))
