"""Frames of ECHONET Lite, format 1: read in place, written into a buffer."""

import struct

HEADER = struct.Struct(">HH3s3sBB")  # EHD, TID, SEOJ, DEOJ, ESV, OPC
EHD = 0x1081
AT_ESV, AT_OPC = 10, 11
EPC_MIN = 0x80
PROPERTY_BYTES = 2  # EPC and PDC
DATAGRAM_BYTES_MAX = 1500

SETI_SNA, SETC_SNA, GET_SNA, INF_SNA, SETGET_SNA = 0x50, 0x51, 0x52, 0x53, 0x5E
SETI, SETC, GET, INF_REQ, SETGET = 0x60, 0x61, 0x62, 0x63, 0x6E
SET_RES, GET_RES, INF, INFC, INFC_RES, SETGET_RES = 0x71, 0x72, 0x73, 0x74, 0x7A, 0x7E
TWO_LISTS = frozenset((SETGET_SNA, SETGET, SETGET_RES))
KNOWN = TWO_LISTS | frozenset(
    (SETI_SNA, SETC_SNA, GET_SNA, INF_SNA, SETI, SETC, GET, INF_REQ, SET_RES, GET_RES, INF, INFC, INFC_RES)
)


class Frame:
    """A validated datagram. Values are views into it."""

    __slots__ = ("tid", "seoj", "deoj", "esv", "properties", "gets")

    def parse(self, datagram):
        """Parse a datagram (a memoryview). Returns whether it is a valid frame. Bytes after the last property are ignored."""
        if len(datagram) < HEADER.size + PROPERTY_BYTES:
            return False
        ehd, self.tid, self.seoj, self.deoj, self.esv, _ = HEADER.unpack_from(datagram)
        if ehd != EHD or self.esv not in KNOWN:
            return False
        two = self.esv in TWO_LISTS
        self.properties, self.gets = [], []
        end = take_list(datagram, AT_OPC, self.properties, two)
        return end is not None and (not two or take_list(datagram, end, self.gets, True) is not None)


def take_list(datagram, at, properties, may_be_empty):
    """Append the (EPC, EDT) of a list and return its end, or None if it exceeds the datagram."""
    end = len(datagram)
    if at >= end or not (datagram[at] or may_be_empty):
        return None
    count, at = datagram[at], at + 1
    for _ in range(count):
        if end - at < PROPERTY_BYTES or datagram[at] < EPC_MIN:
            return None
        value_at = at + PROPERTY_BYTES
        after = value_at + datagram[at + 1]
        if after > end:
            return None
        properties.append((datagram[at], datagram[value_at:after]))
        at = after
    return at


class Writer:
    """Writes one frame at a time into one buffer."""

    def __init__(self):
        self._buffer = bytearray(DATAGRAM_BYTES_MAX)
        self._view = memoryview(self._buffer)
        self._length = self._count_at = 0

    def datagram(self):
        return self._view[: self._length]

    def begin(self, tid, seoj, deoj, esv):
        HEADER.pack_into(self._buffer, 0, EHD, tid, seoj, deoj, esv, 0)
        self._length, self._count_at = HEADER.size, AT_OPC

    def list(self):
        """Start the second list of a SetGet."""
        self._count_at = self._length
        self._buffer[self._length] = 0
        self._length += 1

    def has_room(self, pdc, others):
        """Whether there is space for a value, `others` further properties without a value, and the count of a second list."""
        return self._length + PROPERTY_BYTES + pdc + others * PROPERTY_BYTES + 1 <= DATAGRAM_BYTES_MAX

    def put(self, epc, edt=b""):
        buffer, at, pdc = self._buffer, self._length, len(edt)
        buffer[at] = epc
        buffer[at + 1] = pdc
        self._length = at + PROPERTY_BYTES + pdc
        self._view[at + PROPERTY_BYTES : self._length] = edt
        buffer[self._count_at] += 1

    def set_esv(self, esv):
        self._buffer[AT_ESV] = esv
