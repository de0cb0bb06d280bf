"""The payload: header and body of messages, their digest, and the counters of a receiver."""

import hashlib
import struct

HEADER = struct.Struct(">QII")  # sequence, stream, zero
BLOCK_INPUT = struct.Struct(">QIQI")  # seed, stream, sequence, number of the block
DIGEST_BYTES = 32
MAX_MISSING = 4096  # missing sequence numbers that a Receiver remembers


def write_header(message, stream, sequence):
    """Write the header into a bytearray of at least 16 bytes."""
    HEADER.pack_into(message, 0, sequence, stream, 0)


def read_header(message):
    """The (stream, sequence) of a message. Raises ValueError if it is too short or its zero field is not zero."""
    if len(message) < HEADER.size:
        raise ValueError(f"message of {len(message)} bytes is shorter than a header")
    sequence, stream, zero = HEADER.unpack_from(message)
    if zero:
        raise ValueError("the zero field of the header is not zero")
    return stream, sequence


def body_of(seed, stream, sequence, length):
    """The body of this length, which is derived from the seed."""
    blocks = range(-(-length // DIGEST_BYTES))
    body = b"".join(hashlib.sha256(BLOCK_INPUT.pack(seed, stream, sequence, block)).digest() for block in blocks)
    return body[:length]


def fill(message, seed, stream, sequence):
    """Write a whole message of the verify phase into a bytearray. A message shorter than a header has only a body."""
    header = HEADER.size if len(message) >= HEADER.size else 0
    if header:
        write_header(message, stream, sequence)
    message[header:] = body_of(seed, stream, sequence, len(message) - header)


class Digest:
    """The digest of a set of messages, independent of their order."""

    def __init__(self):
        self._value = 0

    def add(self, message):
        self._value ^= int.from_bytes(hashlib.sha256(message).digest(), "big")

    def __str__(self):
        return self._value.to_bytes(DIGEST_BYTES, "big").hex()


class Receiver:
    """Counts gaps, repeats and disorder of the sequence numbers of one connection."""

    def __init__(self):
        self.gaps = self.repeats = self.disorder = 0
        self._next = 0
        self._missing = set()

    def take(self, sequence):
        """Count a message."""
        if sequence == self._next:
            self._next += 1
        elif sequence > self._next:
            self.gaps += sequence - self._next
            room = MAX_MISSING - len(self._missing)
            self._missing.update(range(self._next, min(sequence, self._next + room)))
            self._next = sequence + 1
        elif sequence in self._missing:
            self._missing.remove(sequence)
            self.gaps -= 1
            self.disorder += 1
        else:
            self.repeats += 1
