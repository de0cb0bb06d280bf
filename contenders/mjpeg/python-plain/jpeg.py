"""The subset of JPEG files that RFC 2435 can transport."""

import struct
from dataclasses import dataclass

SOI, EOI = b"\xff\xd8", b"\xff\xd9"
SOF0, DHT, SOF15, SOS, DQT, DRI = 0xC0, 0xC4, 0xCF, 0xDA, 0xDB, 0xDD
TABLE_BYTES = 64  # a quantisation table with 8-bit values
SAMPLINGS = (0x21, 0x22)  # of luma, by RFC 2435's type: 4:2:2 and 4:2:0

# The tables of ITU-T T.81, K.3, in the format of a DHT segment: DC 0, AC 0, DC 1, AC 1.
HUFFMAN_TABLES = bytes.fromhex(
    "0000010501010101010100000000000000000102030405060708090a0b100002010303020403050504040000017d0102030004110512213141061351"
    "6107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a63"
    "6465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2"
    "d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa0100030101010101010101010000000000000102030405060708090a0b110002"
    "0102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f1171819"
    "1a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798"
    "999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa"
)


class Unfit(ValueError):
    """A file that is not JPEG, or that RFC 2435 cannot transport."""


@dataclass
class Picture:
    """The parts of a JPEG file that RTP transports."""

    width: int = 0
    height: int = 0
    type: int = 0  # RFC 2435, section 4.1, without the bit for restart markers
    tables: bytes = b""  # two quantisation tables: luma and chroma
    restart: int = 0  # in MCUs; 0 if there is none
    scan: object = b""  # a buffer that includes the EOI and any following bytes

    @classmethod
    def parse(cls, file):
        """Parse the segments up to the scan. Assumes the default Huffman tables, because RTP cannot transport others."""
        file = memoryview(file)
        if file[:2] != SOI:
            raise Unfit("no SOI")
        picture, tables, components, at = cls(), {}, None, 2
        while True:
            if at + 4 > len(file) or file[at] != 0xFF:
                raise Unfit(f"no marker at byte {at}")
            marker, end = file[at + 1], at + 2 + int.from_bytes(file[at + 2 : at + 4], "big")
            body, at = bytes(file[at + 4 : end]), end
            if end > len(file):
                raise Unfit(f"segment {marker:02X} is truncated")
            if marker == DQT:
                for start in range(0, len(body), 1 + TABLE_BYTES):
                    if body[start] > 0x0F:
                        raise Unfit("quantisation table with 16-bit values")
                    tables[body[start]] = body[start + 1 : start + 1 + TABLE_BYTES]
            elif marker == SOF0 and len(body) == 6 + 3 * 3:
                picture.height, picture.width = struct.unpack_from(">HH", body, 1)
                components = [body[start + 1 : start + 3] for start in range(6, len(body), 3)]
            elif marker == DRI:
                picture.restart = int.from_bytes(body, "big")
            elif marker == SOS:
                picture.scan = file[end:]
                picture._finish(components, tables)
                return picture
            elif SOF0 <= marker <= SOF15 and marker != DHT:
                raise Unfit(f"not baseline JPEG of three components: SOF {marker:02X}")

    def _finish(self, components, tables):
        if components is None:
            raise Unfit("no SOF before the scan")
        (sampling, luma), (*_, chroma), _ = components
        if sampling not in SAMPLINGS or any(other != bytes((0x11, chroma)) for other in components[1:]):
            raise Unfit("neither 4:2:2 nor 4:2:0")
        if luma not in tables or chroma not in tables:
            raise Unfit("a quantisation table is missing")
        self.type, self.tables = SAMPLINGS.index(sampling), tables[luma] + tables[chroma]

    def file(self):
        """The picture as a JPEG file."""
        parts = [SOI]
        for number in range(2):
            parts.append(_segment(DQT, bytes([number]) + self.tables[number * TABLE_BYTES :][:TABLE_BYTES]))
        components = bytes((1, SAMPLINGS[self.type], 0, 2, 0x11, 1, 3, 0x11, 1))
        parts.append(_segment(SOF0, struct.pack(">BHHB", 8, self.height, self.width, 3) + components))
        parts.append(_segment(DHT, HUFFMAN_TABLES))
        if self.restart:
            parts.append(_segment(DRI, self.restart.to_bytes(2, "big")))
        parts += [_segment(SOS, bytes((3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0))), self.scan]
        if self.scan[-2:] != EOI:
            parts.append(EOI)
        return b"".join(parts)


def _segment(marker, body):
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body
