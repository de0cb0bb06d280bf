"""Statistics, by the names of W3C's webrtc-stats. Bytes are those of UDP's payload (of a channel those of its messages), times are seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Iterable, Optional

if TYPE_CHECKING:
    from ._native import _Value as Value


@dataclass(frozen=True)
class RTCStats:
    """What all have. An ``id`` names the same thing in every report of its connection."""

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
    """``transport``: ICE and DTLS. Datagrams and bytes of ICE itself are left out."""

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
    #: DATA chunks that were sent again; not W3C's.
    chunksRetransmitted: int


@dataclass(frozen=True)
class RTCIceCandidatePairStats(RTCStats):
    """``candidate-pair``: one that a check was sent or received on. Packets and bytes are those of data, without checks."""

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
    #: Those for consent included.
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
    #: How we speak to the TURN server of a relayed one of ours: ``udp``, ``tcp`` or ``tls``.
    relayProtocol: Optional[str]
    #: ``host``, ``srflx``, ``prflx`` or ``relay``.
    candidateType: str
    priority: int
    foundation: str
    relatedAddress: Optional[str]
    relatedPort: Optional[int]


@dataclass(frozen=True)
class RTCCertificateStats(RTCStats):
    """``certificate``: ours, and the peer's once it has shown it."""

    fingerprint: str
    fingerprintAlgorithm: str
    base64Certificate: str


@dataclass(frozen=True)
class RTCDataChannelStats(RTCStats):
    """``data-channel``: one that is not closed."""

    label: str
    protocol: str
    dataChannelIdentifier: Optional[int]
    state: str
    messagesSent: int
    bytesSent: int
    messagesReceived: int
    bytesReceived: int


class RTCStatsReport(dict[str, RTCStats]):
    """All statistics of a connection at one moment, by their ids."""


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
    """What the native half gives, each as its class, whose fields bear the same names."""
    now = datetime.now(timezone.utc)
    found = (_CLASSES[entry["type"]](timestamp=now, **entry) for entry in entries)  # type: ignore[arg-type]
    return RTCStatsReport((stats.id, stats) for stats in found)
