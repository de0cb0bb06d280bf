"""Fast WebRTC data channels for asyncio, by netdyno-rtc.

Names and behaviour are those of W3C's WebRTC API as far as data channels go, and those of aiortc. What is more: ``RTCDataChannel.send_async``,
``receive``, ``receive_many`` and ``async for``, with backpressure both ways.
"""

from ._native import InvalidStateError, OperationError
from .channel import RTCDataChannel
from .description import (
    RTCConfiguration,
    RTCIceCandidate,
    RTCIceServer,
    RTCIceTransportPolicy,
    RTCPeerConnectionIceErrorEvent,
    RTCSessionDescription,
)
from .peer import RTCPeerConnection
from .stats import (
    RTCCertificateStats,
    RTCDataChannelStats,
    RTCIceCandidatePairStats,
    RTCIceCandidateStats,
    RTCPeerConnectionStats,
    RTCSctpTransportStats,
    RTCStats,
    RTCStatsReport,
    RTCTransportStats,
)

__all__ = [
    "InvalidStateError",
    "OperationError",
    "RTCCertificateStats",
    "RTCConfiguration",
    "RTCDataChannel",
    "RTCDataChannelStats",
    "RTCIceCandidate",
    "RTCIceCandidatePairStats",
    "RTCIceCandidateStats",
    "RTCIceServer",
    "RTCIceTransportPolicy",
    "RTCPeerConnection",
    "RTCPeerConnectionIceErrorEvent",
    "RTCPeerConnectionStats",
    "RTCSctpTransportStats",
    "RTCSessionDescription",
    "RTCStats",
    "RTCStatsReport",
    "RTCTransportStats",
]
