"""A histogram of durations in ns up to 60 s, with three significant digits, in HdrHistogram's layout and V2 encoding.

The package hdrhistogram is not used, because a call into its C code takes longer than an addition in Python.
"""

import base64
import struct

MAX_NS = 60 * 10**9
DIGITS = 3
SUB_BUCKET_BITS = 11  # 2048 values of the same width in the first bucket, 1024 in each further one: 3 digits
COOKIE = 0x1C849303 | 0x10  # V2, counts of variable length
HEADER = struct.Struct(">IIIIqqd")  # cookie, payload bytes, normalising offset, digits, lowest, highest, ratio


def _index(value):
    bucket = max(0, value.bit_length() - SUB_BUCKET_BITS)
    return (bucket << (SUB_BUCKET_BITS - 1)) + (value >> bucket)


class Histogram:
    """Counts of durations. Durations above MAX_NS count as MAX_NS."""

    def __init__(self):
        self._counts = [0] * (_index(MAX_NS) + 1)

    def record(self, value):
        """Count a non-negative duration."""
        if value > MAX_NS:
            value = MAX_NS
        bucket = value.bit_length() - SUB_BUCKET_BITS
        if bucket > 0:
            self._counts[(bucket << (SUB_BUCKET_BITS - 1)) + (value >> bucket)] += 1
        else:
            self._counts[value] += 1

    def encode(self):
        """The V2 encoding, in base64."""
        payload = bytearray()
        zeros = 0
        for count in self._counts:
            if count == 0:
                zeros += 1
                continue
            if zeros:
                _append_varint(payload, 2 * zeros - 1)  # zigzag of -zeros
                zeros = 0
            _append_varint(payload, 2 * count)
        header = HEADER.pack(COOKIE, len(payload), 0, DIGITS, 1, MAX_NS, 1.0)
        return base64.b64encode(header + payload).decode()


def _append_varint(out, value):
    """LEB128 for values below 2^56. Greater values have another format, but counts never reach them."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
