"""The messages of the datachannel workload: made and counted by the offerer, checked and counted by the answerer.

The event loop changes these objects, and any thread may read their values: what is counted for one message changes in
one assignment, and what follows from it is computed when it is read.
"""

import asyncio

from .payload import HEADER, Digest, Receiver, body_of, read_header


class Source:
    """Makes the messages of one connection and counts them."""

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
    """Takes the messages of all connections of the answerer."""

    def __init__(self, setup, params):
        self._seed, self._params = setup.seed, params
        self._receivers = [Receiver() for _ in range(params.pairs)]
        self._messages = [0] * params.pairs
        self._digest = Digest()
        self._verified = 0
        self.complete = asyncio.Event()  # as many messages of verify have arrived as were to be sent

    def take(self, connection, message):
        """Take one message; ValueError says that it is not what the offerer should have sent."""
        stream, sequence = read_header(message)
        # Every message that is counted has the length asked for, so that bytes follow from messages.
        if stream != connection or len(message) != self._params.message_bytes:
            raise ValueError(f"connection {connection}: a message of {len(message)} bytes for stream {stream}")
        if sequence < self._params.verify_messages:
            self._verify(stream, sequence, message)
        self._receivers[connection].take(sequence)
        self._messages[connection] += 1

    def _verify(self, stream, sequence, message):
        length = len(message) - HEADER.size
        if message[HEADER.size :] != body_of(self._seed, stream, sequence, length):
            raise ValueError(f"connection {stream}: the body of message {sequence} is not as it was sent")
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
