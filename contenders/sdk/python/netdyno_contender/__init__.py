"""Version 1 of Netdyno's contender protocol for contenders.

The package contains the JSON lines on stdin and stdout (`lab`), the payload (`payload`), and support for data channel
adapters (`datachannel`, `transfer`). The modules `peers` (data channel adapters on asyncio), `rtt`, `echonet`, `mjpeg` and
`histogram` are imported by name. An adapter connects, answers with `ready` or `unsupported`, and handles events until Stop:

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
