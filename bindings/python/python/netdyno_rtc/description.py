"""What the two sides tell each other, and how a connection is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union


@dataclass
class RTCSessionDescription:
    """An offer, an answer, or the word that takes an offer back ("rollback")."""

    sdp: str
    type: str

    def __post_init__(self) -> None:
        if self.type not in ("offer", "answer", "rollback"):
            raise ValueError(f"type: {self.type!r} is none of 'offer', 'answer', 'rollback'")


@dataclass
class RTCIceCandidate:
    """A candidate as text, from "candidate:" on, as browsers have it; empty is the end of candidates."""

    candidate: str
    sdpMid: Optional[str] = None
    sdpMLineIndex: Optional[int] = None


@dataclass
class RTCIceServer:
    """A STUN or TURN server."""

    urls: Union[str, list[str]]
    username: Optional[str] = None
    credential: Optional[str] = None


@dataclass
class RTCConfiguration:
    """Where a connection is made. STUN and TURN servers are not asked, so that naming one is an error."""

    iceServers: Optional[list[RTCIceServer]] = None
    #: The IP address to bind. All of this machine's by default; then those that it reaches the world from are offered. ``"::"`` has IPv6 too.
    address: str = "0.0.0.0"
    #: The UDP port that all connections by a peer's offer share; 0: the system chooses one. Offers of ours take a port of their own each.
    port: int = 0

    def __post_init__(self) -> None:
        if self.iceServers:
            raise ValueError("iceServers: STUN and TURN servers are not asked; leave them out, or use a peer that both sides reach")
