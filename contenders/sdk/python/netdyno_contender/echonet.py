"""What every contender of the echonet workload needs beside its library: the twelve reads, what their values must be, the books
of controller, and the closed loop, over a call that gives the value (`serve_controller`) or over one that is awaited
(`serve_controller_async`). It opens no socket.

Any thread may read the counters; each loop changes them under the interpreter's lock, and one lock for what takes two steps.
"""

import asyncio
import ipaddress
import sys
import threading
from dataclasses import dataclass
from time import monotonic_ns

from .histogram import Histogram
from .lab import Signal, Start, Stop, connect
from .payload import Digest, fill

NODE_PROFILE = 0x0EF001
LIGHTING = 0x029101
READS = tuple((NODE_PROFILE, epc) for epc in (0x80, 0x82, 0x83, 0x8A, 0x9D, 0x9E, 0x9F, 0xD3, 0xD4, 0xD6, 0xD7)) + (
    (LIGHTING, 0x80),
)
MANUFACTURER_CODE = 0x00000B
NS_PER_S = 10**9

PAYLOAD_BYTES = 13  # of the identification number, at its end
IDENTIFICATION_BYTES = 17
LENGTHS = {0x82: 4, 0x8A: 3}
MAPS = (0x9D, 0x9E, 0x9F)
READABLE_CODES = {0x80, 0x82, 0x83, 0x8A, 0x9D, 0x9E, 0x9F}  # in any map of readable properties; several libraries lose further ones
MAX_LISTED_CODES = 15
BITMAP_BYTES = 17
FIRST_CODE = 0x80
EXACT = {
    0x80: ("30",),
    0xD3: ("000001",),
    0xD4: ("0002",),
    0xD6: ("01029101",),
    0xD7: ("010291", "0202910ef0", "020ef00291"),  # several libraries count the node profile, which the contract lets pass
}

BOUNDS = {"outstanding": (1, 128), "timeout_ms": (100, 60_000), "seconds": (0.2, 3600)}


class Lost(Exception):
    """No answer in time."""


class Refused(Exception):
    """An answer that says no."""


@dataclass(frozen=True)
class Echonet:
    """The parameters that a contender needs, and its addresses."""

    local: str
    peer: str
    outstanding: int
    timeout_ms: int
    seconds: float

    @classmethod
    def of(cls, setup):
        """Read and check the parameters; ValueError says what is wrong."""
        values = {"local": str(ipaddress.ip_address(setup.local)), "peer": str(ipaddress.ip_address(setup.peer))}
        for name, (low, high) in BOUNDS.items():
            value = values[name] = setup.params.get(name)
            numbers = (int, float) if name == "seconds" else (int,)
            if type(value) not in numbers or not low <= value <= high:
                raise ValueError(f"params: {name} is {value!r}")
        return cls(**values)

    @property
    def timeout_s(self):
        return self.timeout_ms / 1000


def begin(roles=("controller", "device")):
    """Take the setup: a Lab, a Setup and an Echonet. One that is not for this contender ends the process."""
    lab, setup = connect()
    if setup.workload != "echonet" or setup.role not in roles:
        lab.unsupported(f"workload {setup.workload!r}, role {setup.role!r}")
    try:
        return lab, setup, Echonet.of(setup)
    except ValueError as error:
        return lab.failed(str(error))


def payload(seed):
    """What the device's identification number ends with."""
    message = bytearray(PAYLOAD_BYTES)
    fill(message, seed, 0, 0)
    return bytes(message)


def identification(seed):
    """The value of the node profile's identification number."""
    return b"\xfe" + MANUFACTURER_CODE.to_bytes(3, "big") + payload(seed)


def map_codes(value):
    """The codes of a property map in either form; None if it is none."""
    count = value[0] if value else None
    if count is None or count <= MAX_LISTED_CODES:
        listed = count is not None and len(value) == count + 1 and all(code >= FIRST_CODE for code in value[1:])
        return set(value[1:]) if listed else None
    if len(value) != BITMAP_BYTES:
        return None
    return {FIRST_CODE + (bit << 4) + i for i, bits in enumerate(value[1:]) for bit in range(8) if bits >> bit & 1}


def check(read, value, seed):
    """ValueError says what is wrong with a value that was read."""
    epc = read[1]
    if epc in EXACT:
        good, wanted = value.hex() in EXACT[epc], EXACT[epc][0]
    elif epc in LENGTHS:
        good, wanted = len(value) == LENGTHS[epc], f"{LENGTHS[epc]} bytes"
    elif epc in MAPS:
        codes, needed = map_codes(value), READABLE_CODES if epc == 0x9F else set()
        good, wanted = codes is not None and codes >= needed, f"a property map with {bytes(sorted(needed)).hex() or 'anything'}"
    else:
        good = len(value) == IDENTIFICATION_BYTES and value[0] == 0xFE and value.endswith(payload(seed))
        wanted = f"fe, three bytes, {payload(seed).hex()}"
    if not good:
        raise ValueError(f"{name_of(read)}: {value.hex()}, not {wanted}")


def name_of(read):
    return f"object {read[0]:06X}, property {read[1]:02X}"


class Books:
    """What controller counts and measures."""

    def __init__(self, params, seed):
        self._window_ns, self._seed = round(params.seconds * NS_PER_S), seed
        self._expected = [b""] * len(READS)  # set in verify
        self._from_ns = self._until_ns = 0  # the measured window: none yet
        self._latency = Histogram()
        self._lock = threading.Lock()
        self._next = 0
        self.reads = self.bytes = self.wrong = self.lost = self.late = 0

    def keep(self, index, value):
        """Check and keep a value read in verify; ValueError says what is wrong."""
        check(READS[index], value, self._seed)
        self._expected[index] = bytes(value)

    def verified(self):
        """What `verified` says: digest, messages and bytes."""
        received = self._expected[READS.index((NODE_PROFILE, 0x83))][-PAYLOAD_BYTES:]
        digest = Digest()
        digest.add(received)
        return digest, 1, len(received)

    def measure(self, from_ns):
        """Begin the measured window."""
        self._from_ns, self._until_ns = from_ns, from_ns + self._window_ns

    def next(self):
        """The number of the read to be sent: of READS, the one at that modulo their number."""
        with self._lock:
            number = self._next
            self._next = number + 1
        return number

    def took(self, number, value, sent_ns, at_ns):
        """Count the answer to a read; None for a refusal."""
        with self._lock:
            index = number % 12
            if value != self._expected[index]:
                self._tell(index, value)
            if value is not None:
                self.bytes += len(value)
            self.reads += 1
            if self._from_ns <= at_ns < self._until_ns:
                self._latency.record(at_ns - sent_ns)

    def lose(self):
        """Count a read without an answer."""
        with self._lock:
            self.lost += 1

    def come_late(self):
        """Count an answer to a lost read."""
        with self._lock:
            self.late += 1

    def _tell(self, index, value):
        if not self.wrong:
            got = "refused" if value is None else bytes(value).hex()
            print(f"{name_of(READS[index])}: {got}, and {self._expected[index].hex()} in verify", file=sys.stderr)
        self.wrong += 1

    def values(self):
        with self._lock:
            return {"reads": self.reads, "bytes": self.bytes, "wrong": self.wrong, "lost": self.lost, "late": self.late}

    def histograms(self):
        with self._lock:
            return {"latency": self._latency.encode()}


def serve_controller(lab, setup, params, library):
    """Take the lab's events until stop. `library` has `find()`, which returns once the node at peer is known to have the
    lighting; `read(object, epc)`, which gives the value or raises Lost or Refused; and, if it wants the closed loop to itself, `run(books)`.
    """
    books = Books(params, setup.seed)
    lab.answer_marks(books.values)
    try:
        for event in iter(lab.next, Stop()):
            match event:
                case Signal():
                    begun_ns = monotonic_ns()
                    library.find()
                    lab.connected([monotonic_ns() - begun_ns])
                case Start(phase="verify"):
                    for index, read in enumerate(READS):
                        books.keep(index, library.read(*read))
                    lab.verified(*books.verified())
                case Start(phase="warmup"):
                    run = getattr(library, "run", None) or (lambda books: read_on(books, library.read))
                    for _ in range(1 if hasattr(library, "run") else params.outstanding):
                        threading.Thread(target=_guarded, args=(lab, run, books), daemon=True).start()
                case Start(at_ns=at_ns):
                    books.measure(at_ns)
        lab.result(books.values(), books.histograms())
    except Exception as error:  # whatever a library may raise
        lab.failed(repr(error))


def _guarded(lab, run, books):
    try:
        run(books)
    except Exception as error:
        lab.failed(repr(error))


def read_on(books, read):
    """The closed loop of one thread, over a call that gives the value."""
    while True:
        number = books.next()
        sent_ns = monotonic_ns()
        try:
            value = read(*READS[number % 12])
        except Lost:
            books.lose()
            continue
        except Refused:
            value = None
        books.took(number, value, sent_ns, monotonic_ns())


async def serve_controller_async(lab, setup, params, library):
    """As `serve_controller`, for a library whose `find` and `read` are awaited: `outstanding` tasks read."""
    books, tasks = Books(params, setup.seed), []
    lab.answer_marks(books.values)

    async def guarded():
        try:
            await read_on_async(books, library.read)
        except Exception as error:
            lab.failed(repr(error))

    try:
        async for event in lab.events():
            match event:
                case Signal():
                    begun_ns = monotonic_ns()
                    await library.find()
                    lab.connected([monotonic_ns() - begun_ns])
                case Start(phase="verify"):
                    for index, read in enumerate(READS):
                        books.keep(index, await library.read(*read))
                    lab.verified(*books.verified())
                case Start(phase="warmup"):
                    tasks += [asyncio.create_task(guarded()) for _ in range(params.outstanding)]
                case Start(at_ns=at_ns):
                    books.measure(at_ns)
        lab.result(books.values(), books.histograms())
    except Exception as error:  # whatever a library may raise
        lab.failed(repr(error))


async def read_on_async(books, read):
    """The closed loop of one task."""
    while True:
        number = books.next()
        sent_ns = monotonic_ns()
        try:
            value = await read(*READS[number % 12])
        except Lost:
            books.lose()
            continue
        except Refused:
            value = None
        books.took(number, value, sent_ns, monotonic_ns())


def serve_device(lab):
    """Tell controller that the device answers, and take the lab's events until stop."""
    lab.answer_marks(dict)
    lab.signal("controller", {"ready": True})
    lab.connected([])
    while not isinstance(lab.next(), Stop):
        pass
    lab.result({})
