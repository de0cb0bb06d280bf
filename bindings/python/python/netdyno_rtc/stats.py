"""Statistics, by the names of W3C's webrtc-stats. Bytes are UDP payload (for a channel, message payload); times are in
seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Iterable, Optional

if TYPE_CHECKING:
    from ._native import _Value as Value


@dataclass(frozen=True)
class RTCStats:
    """The common fields. An ``id`` identifies the same object in every report of its connection."""

    timestamp: datetime
    type: str
    id: str


@dataclass(frozen=True)
class RTCPeerConnectionStats(RTCStats):
    """``peer-connection``"""

    dataChannelsOpened: int
    dataChannelsClosed: int


@dataclass(frozen=True)
class RTCTransportStats(RTCStats):
    """``transport``: ICE and DTLS. Packets and bytes of ICE itself are not counted."""

    packetsSent: int
    packetsReceived: int
    bytesSent: int
    bytesReceived: int
    iceRole: str
    iceLocalUsernameFragment: str
    iceState: str
    dtlsState: str
    dtlsRole: str
    #: ``"FEFC"`` is DTLS 1.3, ``"FEFD"`` 1.2.
    tlsVersion: Optional[str]
    selectedCandidatePairId: Optional[str]
    selectedCandidatePairChanges: int
    localCertificateId: str
    remoteCertificateId: Optional[str]


@dataclass(frozen=True)
class RTCSctpTransportStats(RTCStats):
    """``sctp-transport``: the association that carries the channels."""

    transportId: str
    smoothedRoundTripTime: Optional[float]
    congestionWindow: int
    receiverWindow: int
    #: Retransmitted DATA chunks; not part of W3C's statistics.
    chunksRetransmitted: int


@dataclass(frozen=True)
class RTCIceCandidatePairStats(RTCStats):
    """``candidate-pair``: a pair on which a check was sent or received. Packets and bytes are those of data, without
    checks."""

    transportId: str
    localCandidateId: str
    remoteCandidateId: str
    #: ``waiting``, ``in-progress``, ``failed`` or ``succeeded``.
    state: str
    nominated: bool
    packetsSent: int
    packetsReceived: int
    bytesSent: int
    bytesReceived: int
    totalRoundTripTime: float
    currentRoundTripTime: Optional[float]
    requestsReceived: int
    #: Includes consent checks.
    requestsSent: int
    responsesReceived: int
    responsesSent: int
    consentRequestsSent: int


@dataclass(frozen=True)
class RTCIceCandidateStats(RTCStats):
    """``local-candidate`` or ``remote-candidate``"""

    transportId: str
    address: str
    port: int
    protocol: str
    #: For a local relayed candidate, the protocol to the TURN server: ``udp``, ``tcp`` or ``tls``.
    relayProtocol: Optional[str]
    #: ``host``, ``srflx``, ``prflx`` or ``relay``.
    candidateType: str
    priority: int
    foundation: str
    relatedAddress: Optional[str]
    relatedPort: Optional[int]


@dataclass(frozen=True)
class RTCCertificateStats(RTCStats):
    """``certificate``: the local one, and the peer's once it is known."""

    fingerprint: str
    fingerprintAlgorithm: str
    base64Certificate: str


@dataclass(frozen=True)
class RTCDataChannelStats(RTCStats):
    """``data-channel``: a channel that is not closed."""

    label: str
    protocol: str
    dataChannelIdentifier: Optional[int]
    state: str
    messagesSent: int
    bytesSent: int
    messagesReceived: int
    bytesReceived: int


class RTCStatsReport(dict[str, RTCStats]):
    """All statistics of a connection at one moment, by id."""


_CLASSES: dict[Value, type[RTCStats]] = {
    "peer-connection": RTCPeerConnectionStats,
    "transport": RTCTransportStats,
    "sctp-transport": RTCSctpTransportStats,
    "candidate-pair": RTCIceCandidatePairStats,
    "local-candidate": RTCIceCandidateStats,
    "remote-candidate": RTCIceCandidateStats,
    "certificate": RTCCertificateStats,
    "data-channel": RTCDataChannelStats,
}


def report_of(entries: Iterable[dict[str, Value]]) -> RTCStatsReport:
    """Convert the entries of the native half to their classes, whose fields have the same names."""
    now = datetime.now(timezone.utc)
    found = (_CLASSES[entry["type"]](timestamp=now, **entry) for entry in entries)  # type: ignore[arg-type]
    return RTCStatsReport((stats.id, stats) for stats in found)
