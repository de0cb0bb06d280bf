"""What the two sides tell each other, and how a connection is made."""

from __future__ import annotations

import os
import pathlib
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
    """A STUN or TURN server: ``stun:host:port``, ``turn:host:port?transport=udp`` or ``=tcp``, ``turns:host:port?transport=tcp`` (TLS), or a list of
    such URLs. The port may be left out (3478, with TLS 5349), and so may the transport (UDP, with TLS TCP). TURN wants both of the others.
    TCP and TLS are for where UDP is not let through, and on Linux only."""

    urls: Union[str, list[str]]
    username: Optional[str] = None
    credential: Optional[str] = field(default=None, repr=False)
    #: There is no other.
    credentialType: str = "password"

    def __post_init__(self) -> None:
        if self.credentialType != "password":
            raise ValueError(f"credentialType: {self.credentialType!r} is not 'password', and no other is known")


@dataclass(frozen=True)
class RTCPeerConnectionIceErrorEvent:
    """A server was of no use, or is not any more."""

    url: str
    #: What happened, and what may help.
    errorText: str


class Settings(NamedTuple):
    """What a driver is made with."""

    address: str
    port: int
    ice_servers: tuple[tuple[str, str, str], ...]
    relay_only: bool
    public_addresses: tuple[str, ...]
    ports: Optional[tuple[int, int]]
    tcp_port: Optional[int]
    server_roots: Optional[str]


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
    #: A TCP port at which peers may connect (RFC 6544, passive candidates), for browsers behind firewalls that let no UDP through; 0: the system
    #: chooses one. Not the number of ``port``. None: no TCP. Linux only.
    tcpPort: Optional[int] = None
    #: Who may have signed the certificates of ``turns:`` servers: certificates in PEM, or the path of a file of them (``pathlib.Path("roots.pem")``).
    #: None: whom the system trusts.
    serverRoots: Union[str, bytes, os.PathLike[str], None] = None

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
        roots = self.serverRoots
        if isinstance(roots, os.PathLike):
            roots = pathlib.Path(roots).read_bytes()
        if isinstance(roots, bytes):
            # What is no certificate may be anything.
            roots = roots.decode(errors="replace")
        addresses = tuple(self.publicAddresses)
        return Settings(self.address, self.port, tuple(servers), relay_only, addresses, self.ports, self.tcpPort, roots)
