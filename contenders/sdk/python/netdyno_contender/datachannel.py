"""What every adapter of the datachannel workload needs around its library's calls."""

import asyncio
from dataclasses import dataclass, fields

from .lab import now_ns
from .payload import HEADER

HELLO = b"hello"  # what the answerer sends back on each channel that opens
MAX_PAIRS = 10_000
MAX_MESSAGE_BYTES = 1 << 28  # a bound for memory; what a library can do is the adapter's to say


@dataclass(frozen=True)
class DataChannel:
    """The parameters that a contender needs."""

    pairs: int
    message_bytes: int
    ordered: bool
    verify_messages: int
    high_water_bytes: int

    @classmethod
    def of(cls, setup):
        """Read and check the parameters; ValueError says what is wrong."""
        for field in fields(cls):
            value = setup.params.get(field.name)
            if type(value) is not field.type:
                raise ValueError(f"params: {field.name} is {value!r}, not of type {field.type.__name__}")
        params = cls(**{field.name: setup.params[field.name] for field in fields(cls)})
        if not 1 <= params.pairs <= MAX_PAIRS:
            raise ValueError(f"params: pairs is {params.pairs}, not 1 to {MAX_PAIRS}")
        if not HEADER.size <= params.message_bytes <= MAX_MESSAGE_BYTES:
            raise ValueError(f"params: message_bytes is {params.message_bytes}")
        if params.verify_messages < 1 or params.high_water_bytes < 1:
            raise ValueError("params: verify_messages and high_water_bytes are at least 1")
        return params

    def connection(self, body):
        """The number of the connection that a signal's body is about."""
        connection = body.get("connection") if isinstance(body, dict) else None
        if type(connection) is not int or not 0 <= connection < self.pairs:
            raise ValueError(f"there is no connection {connection!r}")
        return connection


def description(connection, kind, sdp):
    """The signal body of an offer or an answer."""
    return {"connection": connection, "type": kind, "sdp": sdp}


class SetupTimes:
    """How long each connection took, from creating its object to usable.

    Each takes a number of steps: the offerer sees its channel open and a hello come, the answerer sees its channel
    open.
    """

    def __init__(self, connections, steps):
        self.setup_ns = [0] * connections
        self._begun_ns = [0] * connections
        self._left = [steps] * connections
        self._pending = connections
        self.done = asyncio.Event()

    def begin(self, connection):
        """Called just before the connection's object is created."""
        self._begun_ns[connection] = now_ns()

    def step(self, connection):
        """Called for each step; the last one ends the connection's time."""
        self._left[connection] -= 1
        if self._left[connection] == 0:
            self.setup_ns[connection] = now_ns() - self._begun_ns[connection]
            self._pending -= 1
            if self._pending == 0:
                self.done.set()
