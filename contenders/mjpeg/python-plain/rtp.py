"""RTP (RFC 3550) with JPEG pictures (RFC 2435): packetization and reassembly."""

import random
import struct

from jpeg import TABLE_BYTES, Picture, Unfit

PAYLOAD_TYPE = 26
MARKER = 0x80
RTP = struct.Struct(">BBHII")  # version, marker and payload type, sequence number, timestamp, SSRC
MAIN = struct.Struct(">IBBBB")  # type-specific and offset, type, Q, width and height in units of 8
RESTART = struct.Struct(">HH")  # interval in MCUs; first, last and count
TABLES = struct.Struct(">BBH")  # zero, precision, length
HAS_RESTARTS = 64  # of the type
TABLES_FOLLOW = 128  # from this Q on, the packet contains the tables
TABLES_IN_BAND = 255
MAX_PIXELS = 2040
MAX_SCAN_BYTES = 1 << 24  # an offset has 24 bits

# The tables of ITU-T T.81, K.1 and K.2, in zigzag order, which Q 1 to 99 scales: RFC 2435, section 4.2.
SCALED_TABLES = bytes.fromhex(
    "100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064785c656763"
    "1112121815182f1a1a2f634238426363636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363"
)


class Packetizer:
    """The sender of a stream of pictures."""

    def __init__(self, packet_bytes, clock_per_frame):
        self._packet_bytes, self._clock_per_frame = packet_bytes, clock_per_frame
        self._ssrc, self._sequence, self._timestamp = (random.getrandbits(bits) for bits in (32, 16, 32))

    def packets(self, file):
        """The packets of a JPEG file, each as (headers, part of the scan), without copying the scan. Raises Unfit."""
        picture = Picture.parse(file)
        width, height = picture.width, picture.height
        if max(width, height) > MAX_PIXELS or width % 8 or height % 8:
            raise Unfit(f"{width}x{height} pixels: RFC 2435 requires multiples of 8 up to {MAX_PIXELS}")
        if not 0 < len(picture.scan) <= MAX_SCAN_BYTES:
            raise Unfit(f"scan of {len(picture.scan)} bytes is too long")
        kind, restart = picture.type, b""
        if picture.restart:
            # Packets are not aligned with restart intervals: section 3.1.7.
            kind, restart = kind | HAS_RESTARTS, RESTART.pack(picture.restart, 0xFFFF)
        tables = TABLES.pack(0, 0, len(picture.tables)) + picture.tables
        offset = 0
        while offset < len(picture.scan):
            headers = MAIN.pack(offset, kind, TABLES_IN_BAND, width // 8, height // 8) + restart + tables
            tables = b""
            part = picture.scan[offset : offset + self._packet_bytes - RTP.size - len(headers)]
            offset += len(part)
            last = MARKER if offset == len(picture.scan) else 0
            yield RTP.pack(0x80, last | PAYLOAD_TYPE, self._sequence, self._timestamp, self._ssrc) + headers, part
            self._sequence = (self._sequence + 1) & 0xFFFF
        self._timestamp = (self._timestamp + self._clock_per_frame) & 0xFFFFFFFF


class Depacketizer:
    """The receiver of a stream of pictures."""

    def __init__(self):
        self._timestamp, self._picture, self._received = None, Picture(), 0
        self._scan = bytearray(1 << 16)
        self._tables = {}  # by Q, those that are constant for the session

    def take(self, packet):
        """Handle a packet. Returns a JPEG file when its last packet arrives, else None. Incomplete pictures are dropped. Raises Unfit."""
        if len(packet) < RTP.size + MAIN.size:
            raise Unfit("truncated packet header")
        _, kind, _, timestamp, _ = RTP.unpack_from(packet)
        if kind & ~MARKER != PAYLOAD_TYPE:
            return None
        if timestamp != self._timestamp:
            self._timestamp, self._picture, self._received = timestamp, Picture(), 0
        try:
            offset, part = self._read_headers(packet)
        except struct.error as error:
            raise Unfit(f"truncated packet header: {error}") from None
        end = offset + len(part)
        if end > len(self._scan):
            self._scan.extend(bytes(end))
        self._scan[offset:end] = part
        self._received += len(part)
        if not kind & MARKER or self._received != end or not self._picture.tables:
            return None
        self._picture.scan = memoryview(self._scan)[:end]
        file = self._picture.file()
        self._picture.scan = b""  # releases the view, so that the buffer can grow
        return file

    def _read_headers(self, packet):
        """Return the offset of a part of the scan, and the part. Stores the picture's properties from the headers."""
        picture, at = self._picture, RTP.size + MAIN.size
        offset, kind, q, width, height = MAIN.unpack_from(packet, RTP.size)
        offset &= MAX_SCAN_BYTES - 1
        picture.width, picture.height, picture.type = 8 * width, 8 * height, kind & ~HAS_RESTARTS
        if picture.type > 1:
            raise Unfit(f"type {kind}")
        if kind & HAS_RESTARTS:
            picture.restart, _ = RESTART.unpack_from(packet, at)
            at += RESTART.size
        if offset == 0 and q >= TABLES_FOLLOW:
            _, sixteen_bits, length = TABLES.unpack_from(packet, at)
            at += TABLES.size
            if length:
                self._tables[q] = bytes(packet[at : at + length])
                at += length
            picture.tables = self._tables.get(q, b"")
            if sixteen_bits or len(picture.tables) not in (0, 2 * TABLE_BYTES):
                raise Unfit("expected two quantisation tables with 8-bit values")
        elif offset == 0:
            picture.tables = scaled_tables(q)
        return offset, packet[at:]


def scaled_tables(q):
    """The tables of Q 1 to 99."""
    if not 1 <= q <= 99:
        raise Unfit(f"Q is {q}")
    scale = 5000 // q if q < 50 else 200 - 2 * q
    return bytes(min(max((value * scale + 50) // 100, 1), 255) for value in SCALED_TABLES)
