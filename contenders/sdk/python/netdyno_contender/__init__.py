"""A contender's side of the Netdyno contender protocol, version 1.

JSON lines on stdin and stdout (`lab`), the payload (`payload`), what every data channel adapter needs (`datachannel`,
`transfer`; on asyncio the frame around them, `peers`: imported by name), and what every adapter of the rtt workload
needs (`rtt`, `histogram`: imported by name). An adapter connects, answers with `ready` or `unsupported`, and takes events until Stop:

    lab, setup = connect()
    lab.ready("...", importlib.metadata.version("..."))
    async for event in lab.events():
        match event: ...
"""

from .datachannel import HELLO, DataChannel, SetupTimes, description
from .lab import Lab, Mark, Setup, Signal, Start, Stop, connect, now_ns
from .payload import Digest, Receiver, body_of, fill, read_header, write_header
from .transfer import Sink, Source, source_values

__all__ = [
    "HELLO", "DataChannel", "Digest", "Lab", "Mark", "Receiver", "SetupTimes", "Setup", "Signal", "Sink", "Source",
    "Start", "Stop", "body_of", "connect", "description", "fill", "now_ns", "read_header", "source_values",
    "write_header",
]  # fmt: skip
