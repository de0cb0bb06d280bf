"""Support for adapters of the datachannel workload."""

import asyncio
from dataclasses import dataclass, fields

from .lab import now_ns
from .payload import HEADER

HELLO = b"hello"  # the message that the answerer sends when a channel opens
MAX_PAIRS = 10_000
MAX_MESSAGE_BYTES = 1 << 28  # bounds memory; the adapter declares the limit of its library


@dataclass(frozen=True)
class DataChannel:
    """The parameters of the workload."""

    pairs: int
    message_bytes: int
    ordered: bool
    verify_messages: int
    high_water_bytes: int

    @classmethod
    def from_setup(cls, setup):
        """Read and check the parameters. Raises ValueError if one is wrong."""
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
        """The connection number in the body of a signal."""
        connection = body.get("connection") if isinstance(body, dict) else None
        if type(connection) is not int or not 0 <= connection < self.pairs:
            raise ValueError(f"connection {connection!r} does not exist")
        return connection


def description(connection, kind, sdp):
    """The signal body of an offer or an answer."""
    return {"connection": connection, "type": kind, "sdp": sdp}


class SetupTimes:
    """The setup time of each connection, from creating its object until it is usable.

    A connection has a number of steps. The offerer has two: the channel opens and the hello arrives. The answerer has one:
    the channel opens.
    """

    def __init__(self, connections, steps):
        self.setup_ns = [0] * connections
        self._begun_ns = [0] * connections
        self._left = [steps] * connections
        self._pending = connections
        self.done = asyncio.Event()

    def begin(self, connection):
        """Start the time of a connection. Call it right before its object is created."""
        self._begun_ns[connection] = now_ns()

    def step(self, connection):
        """Report a step. The last one ends the time of the connection."""
        self._left[connection] -= 1
        if self._left[connection] == 0:
            self.setup_ns[connection] = now_ns() - self._begun_ns[connection]
            self._pending -= 1
            if self._pending == 0:
                self.done.set()
