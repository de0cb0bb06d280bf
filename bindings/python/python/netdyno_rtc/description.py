"""What the two sides tell each other, and how a connection is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Optional, Sequence, Union


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


class RTCIceTransportPolicy(Enum):
    """Which ways may be taken."""

    ALL = "all"
    #: By a TURN server alone, so that the peer learns no address of this machine.
    RELAY = "relay"


@dataclass
class RTCIceServer:
    """A STUN or TURN server: ``stun:host:port``, ``turn:host:port``, or a list of such URLs. TURN wants both of the others."""

    urls: Union[str, list[str]]
    username: Optional[str] = None
    credential: Optional[str] = field(default=None, repr=False)
    #: There is no other.
    credentialType: str = "password"

    def __post_init__(self) -> None:
        if self.credentialType != "password":
            raise ValueError(f"credentialType: {self.credentialType!r} is not 'password', and no other is known")


class Settings(NamedTuple):
    """What a driver is made with."""

    address: str
    port: int
    ice_servers: tuple[tuple[str, str, str], ...]
    relay_only: bool
    public_addresses: tuple[str, ...]
    ports: Optional[tuple[int, int]]


@dataclass
class RTCConfiguration:
    """Where a connection is made, and what helps it to get through NATs. It is read when the connection begins, and errors in it show then."""

    #: 8 URLs at the most. None: no server is asked (aiortc asks a public one then).
    iceServers: Optional[list[RTCIceServer]] = None
    #: The IP address to bind. All of this machine's by default; then those that it reaches the world from are offered. ``"::"`` has IPv6 too.
    address: str = "0.0.0.0"
    #: The UDP port that all connections by a peer's offer share; 0: the system chooses one. Offers of ours take a port of their own each.
    port: int = 0
    #: A member, or its value.
    iceTransportPolicy: Union[RTCIceTransportPolicy, str] = RTCIceTransportPolicy.ALL
    #: Addresses at which the world sees this machine, where a NAT leads each port there to the same one here (as of machines in a cloud).
    publicAddresses: Sequence[str] = ()
    #: The first and the last of the ports that offers of ours and TURN take, for a firewall that lets only those through. None: any.
    ports: Optional[tuple[int, int]] = None

    def __post_init__(self) -> None:
        if self.iceTransportPolicy not in (*RTCIceTransportPolicy, "all", "relay"):
            raise ValueError(f"iceTransportPolicy: {self.iceTransportPolicy!r} is neither 'all' nor 'relay'")

    def _settings(self) -> Settings:
        servers = [
            (url, server.username or "", server.credential or "")
            for server in self.iceServers or ()
            for url in ([server.urls] if isinstance(server.urls, str) else server.urls)
        ]
        relay_only = RTCIceTransportPolicy(self.iceTransportPolicy) is RTCIceTransportPolicy.RELAY
        return Settings(self.address, self.port, tuple(servers), relay_only, tuple(self.publicAddresses), self.ports)
