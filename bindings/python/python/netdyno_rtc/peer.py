"""A connection."""

from __future__ import annotations

from typing import Optional

from ._native import Channel, InvalidStateError, Peer
from .channel import RTCDataChannel
from .description import RTCConfiguration, RTCIceCandidate, RTCPeerConnectionIceErrorEvent, RTCSessionDescription
from .loop import GATHERED, INCOMING, STATE, Emitter, Hub, Waiters
from .stats import RTCStatsReport, report_of


class RTCPeerConnection(Emitter):
    """W3C's RTCPeerConnection, for data channels.

    Events: ``datachannel``, ``connectionstatechange``, ``iceconnectionstatechange``, ``icegatheringstatechange``, ``signalingstatechange``;
    ``icecandidateerror``, with an ``RTCPeerConnectionIceErrorEvent``, for a server that is of no use.
    ``localDescription`` carries all candidates, for which ``setLocalDescription`` waits; the peer's may come one by one.
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
        """``new``, ``gathering`` (while servers are asked) or ``complete``."""
        return self._gathering

    @property
    def signalingState(self) -> str:
        """``stable``, ``have-local-offer``, ``have-remote-offer`` or ``closed``."""
        return self._signaling

    @property
    def failure(self) -> Optional[str]:
        """Why it failed, if it did."""
        return self._failure

    @property
    def localDescription(self) -> Optional[RTCSessionDescription]:
        return self._local

    @property
    def remoteDescription(self) -> Optional[RTCSessionDescription]:
        return self._remote

    @property
    def maxMessageSize(self) -> int:
        """The longest message that the peer takes, in bytes: 65,536 until its description is known."""
        return self._native.max_message_bytes if self._native else 65_536

    # -- what is done with it --

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
        """A new channel. ``id`` is for ``negotiated`` ones, which both sides create."""
        if maxPacketLifeTime is not None and maxRetransmits is not None:
            raise ValueError("maxPacketLifeTime and maxRetransmits: only one of them")
        if negotiated and id is None:
            raise ValueError("id: a channel that is negotiated needs one, 0 to 65534, the same on both sides")
        hub, native = self._begin(own_port=True)
        stream = id if negotiated else None
        channel = native.create_channel(label, ordered, maxPacketLifeTime, maxRetransmits, protocol, stream)
        return RTCDataChannel(hub, channel)

    async def createOffer(self) -> RTCSessionDescription:
        """An offer, with the candidates that are known already. Create a channel first, or the peer has no reason to connect."""
        if self._signaling not in ("stable", "have-local-offer"):
            raise InvalidStateError(f"no offer can be made: the signaling state is {self._signaling}")
        _, native = self._begin(own_port=True)
        if self._has_offered and self._restarts:
            native.rollback()
        sdp = native.create_offer(self._restarts)
        self._has_offered, self._restarts = True, False
        return RTCSessionDescription(sdp=sdp, type="offer")

    async def createAnswer(self) -> RTCSessionDescription:
        """The answer to the offer that was set."""
        if self._signaling != "have-remote-offer" or self._answer is None:
            raise InvalidStateError(f"no offer waits for an answer: the signaling state is {self._signaling}")
        return self._answer

    async def setLocalDescription(self, sessionDescription: Optional[RTCSessionDescription] = None) -> None:
        """Set what ``createOffer`` or ``createAnswer`` gave; without an argument, what is due.

        Waits until all STUN and TURN servers have answered, or have not in 10 s. Then ``localDescription`` has what they said.
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
            raise InvalidStateError(f"an {description.type} cannot be set: the signaling state is {self._signaling}")
        self._local = description
        self._signal("stable" if description.type == "answer" else "have-local-offer")
        await self._gather()

    async def setRemoteDescription(self, sessionDescription: RTCSessionDescription) -> None:
        """Take the peer's offer or answer. An offer that crosses one of ours takes ours back."""
        description = sessionDescription
        if self._signaling == "closed":
            raise InvalidStateError("the peer connection is closed")
        if description.type == "rollback":
            raise InvalidStateError("an offer that was taken cannot be given back: answer it")
        if description.type == "offer":
            _, native = self._begin(own_port=False)
            if self._has_offered:
                self._roll_back()
            self._answer = RTCSessionDescription(sdp=native.accept_offer(description.sdp), type="answer")
            self._remote = description
            self._signal("have-remote-offer")
            return
        if self._signaling != "have-local-offer" or self._native is None:
            raise InvalidStateError(f"no offer of ours waits for an answer: the signaling state is {self._signaling}")
        self._native.accept_answer(description.sdp)
        self._has_offered, self._remote = False, description
        self._signal("stable")

    async def addIceCandidate(self, candidate: Optional[RTCIceCandidate]) -> None:
        """A candidate of the peer that came after its description; ``None``: there are no more."""
        if self._native is None or self._remote is None:
            raise InvalidStateError("a candidate belongs to a description of the peer: set that first")
        self._native.add_candidate(candidate.candidate if candidate else "")

    def restartIce(self) -> None:
        """The next offer looks for a new path: also for a connection that has failed, within a minute."""
        self._restarts = True

    async def getStats(self) -> RTCStatsReport:
        """All statistics of a connection that has begun, by W3C's names; ``InvalidStateError`` once it is over."""
        return report_of(self._native.report() if self._native else ())

    async def close(self) -> None:
        """Tell the peer, and end it. What is buffered is lost: close the channels first, and wait for that, to have it delivered."""
        self._signal("closed")
        if self._native is None or self._watchers is None:
            self._connection = self._ice = "closed"
            return
        self._native.close()
        while not self._native.is_over:
            await self._watchers.wait()
        self._on_news(STATE)

    # -- what happens --

    def _begin(self, own_port: bool) -> tuple[Hub, Peer]:
        if self._signaling == "closed":
            raise InvalidStateError("the peer connection is closed")
        if self._hub is None or self._native is None:
            self._hub = Hub.of(self._configuration._settings())
            self._native = self._hub.add_peer(own_port, self)
            self._watchers = Waiters(self._hub.loop)
        return self._hub, self._native

    async def _gather(self) -> None:
        """Until no more candidates are to come; those that came meanwhile are put into the description."""
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
            self._tell("icegatheringstatechange")

    def _roll_back(self) -> None:
        if not self._has_offered or self._native is None:
            raise InvalidStateError("no offer of ours to take back")
        self._native.rollback()
        self._has_offered = False
        self._signal("stable")

    def _signal(self, state: str) -> None:
        if state != self._signaling:
            self._signaling = state
            self._tell("signalingstatechange")

    def _on_news(self, news: int) -> None:
        if self._native is None or self._hub is None or self._watchers is None:
            return
        if news & STATE:
            connection, ice, self._failure = self._native.state
            if ice != self._ice:
                self._ice = ice
                self._tell("iceconnectionstatechange")
            if connection != self._connection:
                self._connection = connection
                self._tell("connectionstatechange")
            if self._native.is_over:
                self._signal("closed")
                self._watchers.wake()
                self._hub.remove_peer(self._native)
        if news & GATHERED:
            for failure in self._native.server_failures():
                self._tell("icecandidateerror", RTCPeerConnectionIceErrorEvent(*failure))
            self._watchers.wake()
        if news & INCOMING:
            for native in self._native.incoming():
                self._announce(self._hub, native)

    def _announce(self, hub: Hub, native: Channel) -> None:
        self._tell("datachannel", RTCDataChannel(hub, native))
