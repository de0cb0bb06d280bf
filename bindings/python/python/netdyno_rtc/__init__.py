"""Fast WebRTC data channels for asyncio, by netdyno-rtc.

Names and behaviour are those of W3C's WebRTC API for data channels, and of aiortc. In addition, ``RTCDataChannel`` has
``send_async``, ``send_many``, ``receive``, ``receive_many`` and ``async for``, with backpressure in both directions.
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
