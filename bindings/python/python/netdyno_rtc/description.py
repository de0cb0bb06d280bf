"""Session descriptions, candidates and the configuration of connections."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Optional, Sequence, Union


@dataclass
class RTCSessionDescription:
    """An offer, an answer, or a "rollback", which withdraws an offer."""

    sdp: str
    type: str

    def __post_init__(self) -> None:
        if self.type not in ("offer", "answer", "rollback"):
            raise ValueError(f"type: {self.type!r} is not 'offer', 'answer' or 'rollback'")


@dataclass
class RTCIceCandidate:
    """A candidate as text, from "candidate:" on, as in browsers; an empty one ends the candidates."""

    candidate: str
    sdpMid: Optional[str] = None
    sdpMLineIndex: Optional[int] = None


class RTCIceTransportPolicy(Enum):
    """Which candidates may be used."""

    ALL = "all"
    #: TURN relays only, so that the peer does not learn any address of this machine.
    RELAY = "relay"


@dataclass
class RTCIceServer:
    """A STUN or TURN server: ``stun:host:port``, ``turn:host:port?transport=udp`` or ``=tcp``,
    ``turns:host:port?transport=tcp`` (TLS), or a list of such URLs. The port defaults to 3478, with TLS to 5349; the
    transport defaults to UDP, with TLS to TCP. TURN requires ``username`` and ``credential``. TCP and TLS are for
    networks that block UDP, on Linux only."""

    urls: Union[str, list[str]]
    username: Optional[str] = None
    credential: Optional[str] = field(default=None, repr=False)
    #: The only supported type.
    credentialType: str = "password"

    def __post_init__(self) -> None:
        if self.credentialType != "password":
            raise ValueError(f"credentialType: {self.credentialType!r} is not 'password', the only supported type")


@dataclass(frozen=True)
class RTCPeerConnectionIceErrorEvent:
    """A STUN or TURN server failed."""

    url: str
    #: The reason, and a possible remedy.
    errorText: str


class Settings(NamedTuple):
    """The arguments of a driver."""

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
    """The local address of a connection and settings for NAT traversal. Values are checked when the first channel or
    description is created."""

    #: At most 8 URLs. ``None``: no servers (aiortc uses a public one by default).
    iceServers: Optional[list[RTCIceServer]] = None
    #: The IP address to bind. By default all IPv4 addresses; those of interfaces that are up are then offered. ``"::"``
    #: includes IPv6.
    address: str = "0.0.0.0"
    #: The UDP port that all connections from a peer's offer share; 0: chosen by the system. Each local offer uses a
    #: separate port.
    port: int = 0
    #: A member of the enum, or its value.
    iceTransportPolicy: Union[RTCIceTransportPolicy, str] = RTCIceTransportPolicy.ALL
    #: Public addresses of this machine behind a NAT that forwards each port to the same local port (1:1 NAT in a cloud).
    publicAddresses: Sequence[str] = ()
    #: The first and the last port for local offers and TURN, for a firewall that admits only a range. ``None``: any.
    ports: Optional[tuple[int, int]] = None
    #: A TCP port on which peers may connect (RFC 6544, passive candidates), for browsers behind firewalls that block UDP;
    #: 0: chosen by the system. It must differ from ``port``. ``None``: no TCP. Linux only.
    tcpPort: Optional[int] = None
    #: The authorities trusted for ``turns:`` servers: certificates in PEM, or the path of a file with them
    #: (``pathlib.Path("roots.pem")``). ``None``: those that the system trusts.
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
            # A file that contains no certificates may have any encoding.
            roots = roots.decode(errors="replace")
        addresses = tuple(self.publicAddresses)
        return Settings(self.address, self.port, tuple(servers), relay_only, addresses, self.ports, self.tcpPort, roots)
