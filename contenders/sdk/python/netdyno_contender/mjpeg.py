"""Support for contenders of the mjpeg workload: pictures (`Picture`), the clip (`Clip`), and the sender's iteration over it and
the receiver's checks (`Job`). The module opens no sockets.

    job = begin()
    job.ready("library", "1.0.0")  # from then on, a separate thread answers the lab

    A sender calls `job.await_port()`, creates the library's sender, and calls `job.connected()`. Then it runs this loop:

    while (jpeg := job.next()) is not None:
        job.await_due()  # unless the library paces frames itself, by job.interval_ns()
        send(jpeg)
        job.sent(len(jpeg))
    # Reached only if job.live: generate pictures, and call job.count(length) for each.

    A receiver reads `now_ns()`, creates and binds the library's receiver, and calls `job.bound(port, created_ns)`. Then it calls
    `job.take(jpeg)` for each picture, from one thread at a time.
"""

import os
import re
import struct
import sys
import threading
import time
from dataclasses import dataclass, field

from .histogram import Histogram
from .lab import Signal, Start, Stop, connect, now_ns
from .payload import Digest

NS_PER_S = 10**9
VERIFY_FPS_MAX = 30  # frames per second in verify
MAX_COMPONENTS = 4
MAX_FRAME_BYTES = 64 << 20
MAX_FRAMES = 100_000
READ_BYTES = 64 << 10
TABLES = 4
COUNTS = 16  # of a Huffman table

SOF0, SOF1, DHT, SOF15, SOS, DQT, DRI = 0xC0, 0xC1, 0xC4, 0xCF, 0xDA, 0xDB, 0xDD
SCAN_END = re.compile(rb"\xff+(?![\x00\xd0-\xd7\xff])")  # a marker other than a restart marker, with its fill bytes
DEFAULT_HUFFMAN = (  # ITU-T T.81, K.3: DC 0, AC 0, DC 1, AC 1
    bytes.fromhex("00010501010101010100000000000000000102030405060708090a0b"),
    bytes.fromhex(
        "0002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a16"
        "1718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a83848586878889"
        "8a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9ea"
        "f1f2f3f4f5f6f7f8f9fa"
    ),
    bytes.fromhex("00030101010101010101010000000000000102030405060708090a0b"),
    bytes.fromhex(
        "00020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434"
        "e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a828384858687"
        "88898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9"
        "eaf2f3f4f5f6f7f8f9fa"
    ),
)


class Malformed(ValueError):
    """The data is not a JPEG file of the kind that the workload uses."""


@dataclass
class Picture:
    """The parts of a baseline JPEG file that affect decoding (ITU-T T.81, Annex B), and the offset of its scan."""

    width: int = 0
    height: int = 0
    scan_at: int = 0
    restart: int = 0
    components: list = field(default_factory=list)  # (sampling, number of the quantisation table)
    quantisation: dict = field(default_factory=dict)  # number: 64 u16
    huffman: dict = field(default_factory=dict)  # index in the canonical form: counts and values

    @classmethod
    def parse(cls, jpeg):
        """Parse the headers of a file, up to its scan. Raises Malformed."""
        if jpeg[:2] != b"\xff\xd8":
            raise Malformed("no SOI at the beginning")
        picture, at = cls(), 2
        while True:
            while jpeg[at : at + 2] == b"\xff\xff":  # any number of fill bytes may precede a marker
                at += 1
            if at + 4 > len(jpeg) or jpeg[at] != 0xFF:
                raise Malformed(f"no marker at byte {at}")
            marker, end = jpeg[at + 1], at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
            if end < at + 4 or end > len(jpeg):
                raise Malformed(f"segment {marker:02x} is truncated")
            picture._segment(marker, bytes(jpeg[at + 4 : end]))
            at = end
            if marker == SOS:
                picture.scan_at = at
                return picture

    def _segment(self, marker, segment):
        if marker == DQT:
            self._read_tables(segment, lambda rest: 129 if rest[0] >> 4 == 1 else 65, self._quantisation)
        elif marker == DHT:
            self._read_tables(segment, lambda rest: 1 + COUNTS + sum(rest[1 : 1 + COUNTS]), self._huffman)
        elif marker in (SOF0, SOF1):
            self._frame(segment)
        elif SOF1 < marker <= SOF15:
            raise Malformed(f"coding process {marker:02x} is not sequential with Huffman codes")
        elif marker == DRI:
            self.restart = int.from_bytes(_at_least(segment, 2)[:2], "big")
        elif marker == SOS:
            # RFC 2435 requires one scan of all components, the first with the tables 0 and the others with the tables 1.
            count = len(self.components)
            tables = list(segment[2 : 2 + 2 * count : 2])
            if not count or len(segment) != 4 + 2 * count or segment[0] != count or tables != [0x00] + [0x11] * (count - 1):
                raise Malformed("unsupported scan header")

    def _read_tables(self, segment, length_of, take):
        while segment:
            length = length_of(segment)
            take(_at_least(segment, max(length, 1 + COUNTS))[:length])
            segment = segment[length:]

    def _quantisation(self, table):
        number, values = table[0] & 0x0F, table[1:]
        if number >= TABLES:
            raise Malformed(f"malformed quantisation table {number}")
        self.quantisation[number] = values if len(values) == 128 else struct.pack(">64H", *values)

    def _huffman(self, table):
        slot = (table[0] & 0x0F) * 2 + (table[0] >> 4)
        if slot >= TABLES:
            raise Malformed(f"malformed Huffman table {table[0]:02x}")
        self.huffman[slot] = table[1:]

    def _frame(self, segment):
        precision, self.height, self.width, count = struct.unpack(">BHHB", _at_least(segment, 6)[:6])
        if precision != 8 or not 0 < count <= MAX_COMPONENTS or len(segment) != 6 + 3 * count:
            raise Malformed("malformed frame header")
        self.components = [(segment[at + 1], segment[at + 2]) for at in range(6, len(segment), 3)]

    def scan_end(self, jpeg):
        """The end of the entropy-coded data, including restart markers: the first other marker or its fill bytes."""
        found = SCAN_END.search(jpeg, self.scan_at)
        return found.start() if found else len(jpeg)

    def canonical(self, jpeg):
        """The canonical form. `jpeg` is the parsed file."""
        parts = [struct.pack(">HHB", self.width, self.height, len(self.components))]
        for sampling, table in self.components:
            if table not in self.quantisation:
                raise Malformed(f"no quantisation table {table}")
            parts += [bytes([sampling]), self.quantisation[table]]
        parts.append(struct.pack(">H", self.restart))
        parts += [self.huffman.get(slot, default) for slot, default in enumerate(DEFAULT_HUFFMAN)]
        return b"".join([*parts, jpeg[self.scan_at : self.scan_end(jpeg)]])


def _at_least(segment, length):
    if len(segment) < length:
        raise Malformed("truncated segment")
    return segment


@dataclass(frozen=True)
class _Frame:
    at: int
    length: int
    scan_at: int
    scan_bytes: int


class Clip:
    """A file of concatenated JPEG files, of which only one frame at a time is in memory."""

    def __init__(self, path):
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.frames, held, at, more = [], b"", 0, True
        while more:
            part = os.read(self._file, READ_BYTES)
            more, held = bool(part), held + part
            while frame := _first_frame(held, at):
                self.frames.append(frame)
                at, held = at + frame.length, held[frame.length :]
            if len(held) > MAX_FRAME_BYTES or len(self.frames) > MAX_FRAMES:
                raise Malformed(f"{path}: frame {len(self.frames)} is too long, or there are too many frames")
        if held or not self.frames:
            raise Malformed(f"{path}: frame {len(self.frames)} is not a complete JPEG file")

    def read(self, frame):
        """A frame, one JPEG file."""
        return os.pread(self._file, self.frames[frame].length, self.frames[frame].at)

    def find(self, picture, jpeg, likely):
        """The frame whose scan equals that of this picture, by comparing every byte, or None. Tries `likely` first."""
        if self._is_scan(likely, jpeg, picture.scan_at):
            return likely
        length = picture.scan_end(jpeg) - picture.scan_at
        for number, frame in enumerate(self.frames):
            if frame.scan_bytes == length and self._is_scan(number, jpeg, picture.scan_at):
                return number
        return None

    def _is_scan(self, number, jpeg, scan_at):
        frame = self.frames[number]
        end = scan_at + frame.scan_bytes
        after = bytes(jpeg[end : end + 2])
        if len(jpeg) < end or after not in (b"", b"\xff", b"\xff\xff", b"\xff\xd9"):
            return False
        return os.pread(self._file, frame.scan_bytes, frame.at + frame.scan_at) == memoryview(jpeg)[scan_at:end]


def _first_frame(held, at):
    """The frame at the start of these bytes, if it is complete."""
    try:
        picture = Picture.parse(held)
    except Malformed:
        return None
    end = picture.scan_end(held)
    if held[end : end + 2] != b"\xff\xd9":
        return None
    return _Frame(at, end + 2, picture.scan_at, end - picture.scan_at)


def begin(connection=None):
    """Read the setup and return the Job. An unsupported setup ends the process."""
    lab, setup = connection or connect()
    if setup.workload != "mjpeg" or setup.role not in ("sender", "receiver"):
        lab.unsupported(f"workload {setup.workload!r}, role {setup.role!r}")
    try:
        return Job(lab, setup)
    except (KeyError, OSError, TypeError, ValueError) as error:
        lab.failed(f"setup: {error!r}")


class Job:
    """The role of this process, with its counters."""

    def __init__(self, lab, setup):
        params = setup.params
        self.lab, self.local, self.peer = lab, setup.local, setup.peer
        self.is_sender, self.live = setup.role == "sender", params["source"] == "live"
        self.width, self.height, self.quality = params["width"], params["height"], params["quality"]
        self.fps, self.packet_bytes = params["fps"], params["packet_bytes"]  # fps = 0: as fast as possible
        self._window_ns = int(params["seconds"] * NS_PER_S)
        self._clip = Clip(setup.inputs["clip"])
        if len(self._clip.frames) != params["clip_frames"]:
            raise ValueError(f"the clip has {len(self._clip.frames)} frames, expected {params['clip_frames']}")
        self._changed = threading.Condition()
        self._phase, self._port, self._have, self._measure_ns = None, None, False, None
        self._frames = self._bytes = self._wrong = self._dropped = self._on_time = 0
        self._jitter = Histogram()
        # The sender: the next frame, the number of sent frames, and the start of the schedule with the number of frames then.
        self._next, self._sent, self._walks_in, self._first = 0, 0, None, (0, 0)
        # The receiver: the frames of verify, and the last frame with its time of arrival.
        self._seen, self._digest, self._verified_bytes, self._last = set(), Digest(), 0, None

    def ready(self, name, version):
        """Report the library under test and start a thread that answers the lab."""
        self.lab.ready(name, version)
        self.lab.answer_marks(self.values)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        for event in iter(self.lab.next, Stop()):
            self.handle(event)
        histograms = {} if self.is_sender or self.fps == 0 else {"jitter": self._jitter.encode()}
        self.lab.result(self.values(), histograms)
        os._exit(0)

    def handle(self, event):
        """Handle an event of the lab other than a mark and the stop."""
        with self._changed:
            match event:
                case Start(phase=phase, at_ns=at_ns):
                    self._phase = phase
                    if phase == "measure":
                        self._measure_ns = at_ns
                case Signal(body={"port": port}):
                    self._port = port
                case Signal(body={"have": _}):
                    self._have = True
            self._changed.notify_all()

    def _until(self, so):
        with self._changed:
            self._changed.wait_for(so)

    def values(self):
        """The counters."""
        frames = self._frames
        if self.is_sender:
            return {"frames": frames, "bytes": self._bytes}
        books = {"scan_bytes": self._bytes, "wrong": self._wrong, "dropped": self._dropped, "on_time": self._on_time}
        return {"frames": frames, **books}

    # sender

    def await_port(self):
        """Wait for the receiver's signal and return its RTP port."""
        self._until(lambda: self._port is not None)
        return self._port

    def connected(self):
        """Report that the library's sender was created."""
        self.lab.connected([])

    def next(self):
        """The next frame (one JPEG file). Waits for its phase. None after `verify` if live."""
        # Verify lasts until the receiver has all frames. Nothing is sent between verify and the next phase.
        self._until(lambda: self._phase is not None and not (self._phase == "verify" and self._have))
        walks_in = "verify" if self._phase == "verify" else "warmup"  # a sender does not distinguish warmup and measure
        if walks_in == "warmup" and self.live:
            return None
        if walks_in != self._walks_in:
            self._walks_in, self._first = walks_in, (now_ns(), self._sent)
        frame = self._next
        self._next = (frame + 1) % len(self._clip.frames)
        return self._clip.read(frame)

    def interval_ns(self):
        """The interval between frames in the current phase; 0: as fast as possible."""
        fps = self.fps
        if self._walks_in == "verify":
            fps = min(fps or VERIFY_FPS_MAX, VERIFY_FPS_MAX)
        return NS_PER_S // fps if fps else 0

    def due_ns(self):
        """When the current frame is due: in the past if there is no interval."""
        first_ns, before = self._first
        return first_ns + (self._sent - before) * self.interval_ns()

    def await_due(self):
        """Sleep until the current frame is due."""
        if self.interval_ns():
            time.sleep(max(0, self.due_ns() - now_ns()) / NS_PER_S)

    def sent(self, length):
        """Report that the frame was handed to the network."""
        self._sent += 1
        if self._walks_in != "verify":
            self.count(length)

    def count(self, length):
        """Count a live picture."""
        self._bytes += length
        self._frames += 1

    # receiver

    def bound(self, port, created_ns):
        """Report that RTP is bound at this port. `created_ns` is the time right before the library's receiver was created."""
        self.lab.connected([now_ns() - created_ns])
        self.lab.signal("sender", {"port": port})

    def take(self, jpeg):
        """Check a picture (the bytes of one JPEG file) that the library has just delivered."""
        at_ns, counts = now_ns(), self._phase not in (None, "verify")
        try:
            self._judge(jpeg, at_ns, counts)
        except Malformed as error:
            after = "the first" if self._last is None else f"after frame {self._last[0]}"
            why = f"picture of {len(jpeg)} bytes, {after}: {error}"
            if not counts:
                self.lab.failed(f"verify: {why}")
            if self._wrong == 0:
                print(why, file=sys.stderr)
            self._wrong += 1

    def _judge(self, jpeg, at_ns, counts):
        picture = Picture.parse(jpeg)
        if counts and self.live:
            if (picture.width, picture.height) != (self.width, self.height):
                raise Malformed(f"wrong size of {picture.width}x{picture.height} pixels")
            self._count(0, len(jpeg) - picture.scan_at, at_ns)
            return
        likely = 0 if self._last is None else (self._last[0] + 1) % len(self._clip.frames)
        frame = self._clip.find(picture, jpeg, likely)
        if frame is None:
            raise Malformed("its scan is not in the clip")
        if counts:
            self._count(frame, self._clip.frames[frame].scan_bytes, at_ns)
            return
        self._last = (frame, at_ns)
        if frame not in self._seen:
            self._verify(frame, picture.canonical(jpeg))

    def _verify(self, frame, form):
        self._seen.add(frame)
        self._digest.add(form)
        self._verified_bytes += len(form)
        if len(self._seen) == len(self._clip.frames):
            self._until(lambda: self._phase is not None)  # the other role may have learnt of the phase first
            self.lab.signal("sender", {"have": len(self._seen)})
            self.lab.verified(self._digest, len(self._seen), self._verified_bytes)

    def _count(self, frame, scan_bytes, at_ns):
        """Count a complete and equal frame after `verify`."""
        if self._last is not None:
            before, before_ns = self._last
            if not self.live:
                self._dropped += (frame - before - 1) % len(self._clip.frames)
            if self.fps:
                nominal_ns = NS_PER_S // self.fps
                off_ns = abs(at_ns - before_ns - nominal_ns)
                self._on_time += off_ns <= nominal_ns // 2
                if self._measure_ns is not None and at_ns - self._measure_ns < self._window_ns:
                    self._jitter.record(off_ns)
        self._last = (frame, at_ns)
        self._bytes += scan_bytes
        self._frames += 1
