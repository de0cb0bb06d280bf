"""The messages of the datachannel workload, which the offerer generates and the answerer checks.

The event loop modifies these objects; any thread may read their values. Each message changes a single counter by one
assignment; dependent values are computed when they are read.
"""

import asyncio

from .payload import HEADER, Digest, Receiver, body_of, read_header


class Source:
    """Generates and counts the messages of one connection."""

    def __init__(self, setup, params, connection):
        self._seed, self._params, self._stream = setup.seed, params, connection
        self._body = b""
        self.messages = 0

    def message(self):
        """The next message to send."""
        if self.messages < self._params.verify_messages:
            length = self._params.message_bytes - HEADER.size
            self._body = body_of(self._seed, self._stream, self.messages, length)
        return HEADER.pack(self.messages, self._stream, 0) + self._body

    def sent(self):
        self.messages += 1


def source_values(params, sources):
    """The counters of the offerer, summed over its connections."""
    messages = sum(source.messages for source in sources)
    return {"messages": messages, "bytes": messages * params.message_bytes}


class Sink:
    """Checks and counts the messages of all connections of the answerer."""

    def __init__(self, setup, params):
        self._seed, self._params = setup.seed, params
        self._receivers = [Receiver() for _ in range(params.pairs)]
        self._messages = [0] * params.pairs
        self._digest = Digest()
        self._verified = 0
        self.complete = asyncio.Event()  # set when all messages of verify have arrived

    def take(self, connection, message):
        """Check and count a message. Raises ValueError if it is wrong."""
        stream, sequence = read_header(message)
        # All counted messages have the same length, so the bytes are computed from their number.
        if stream != connection or len(message) != self._params.message_bytes:
            raise ValueError(f"connection {connection}: message of {len(message)} bytes for stream {stream}")
        if sequence < self._params.verify_messages:
            self._verify(stream, sequence, message)
        self._receivers[connection].take(sequence)
        self._messages[connection] += 1

    def _verify(self, stream, sequence, message):
        length = len(message) - HEADER.size
        if message[HEADER.size :] != body_of(self._seed, stream, sequence, length):
            raise ValueError(f"connection {stream}: the body of message {sequence} is wrong")
        self._digest.add(message)
        self._verified += 1
        if self._verified == self._params.pairs * self._params.verify_messages:
            self.complete.set()

    def verified(self):
        """The digest, the messages and the bytes of the verify phase."""
        return self._digest, self._verified, self._verified * self._params.message_bytes

    def values(self):
        """The counters of the answerer, summed over its connections."""
        messages = sum(self._messages)
        values = {"messages": messages, "bytes": messages * self._params.message_bytes}
        for name in ("gaps", "repeats", "disorder"):
            values[name] = sum(getattr(receiver, name) for receiver in self._receivers)
        return values
