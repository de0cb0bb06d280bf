"""What every contender of the echonet workload needs beside its library: the twelve reads, what their values must be, the books
of controller, and the closed loop: over a call that gives the value (`serve_controller`), over one that is awaited
(`serve_controller_async`), or of one that sends and receives by itself (`serve_runner`). It opens no socket.

The counters are under a lock: threads may share the loop, and the thread that reads the lab's lines answers its marks.
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
ROUND = len(READS)
MANUFACTURER_CODE = 0x00000B
NS_PER_S = 10**9
NS_PER_MS = 10**6
LOOK_S = 0.1  # how often a loop of its own looks whether a read is lost
PLACES = 128  # of reads under way
TURNS = 511  # of a place; then the numbers begin again

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


def same_map(read, value, other):
    """Whether two values are a map of the same codes, which may be listed in another order."""
    return read[1] in MAPS and value is not None and len(value) == len(other) and map_codes(value) == map_codes(other)


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
        """Check and keep a value read in verify, None for a refusal; ValueError says what is wrong."""
        if value is None:
            raise ValueError(f"{name_of(READS[index])}: refused")
        value = bytes(value)
        check(READS[index], value, self._seed)
        self._expected[index] = value

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
            index = number % ROUND
            if value != self._expected[index] and not same_map(READS[index], value, self._expected[index]):
                self._tell(index, value)
            if value is not None:
                self.bytes += len(value)
            self.reads += 1
            if self._from_ns <= at_ns < self._until_ns:
                self._latency.record(at_ns - sent_ns)

    def failed(self, number, error, sent_ns, at_ns):
        """Count a read that gave no value: Lost or Refused."""
        if isinstance(error, Lost):
            self.lose()
        else:
            self.took(number, None, sent_ns, at_ns)

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


class UnderWay:
    """The reads of a loop of its own that have no answer yet. One thread uses it.

    A read's number is 128 * turn + place: it names the place, and the turn, from 1 on, tells an old answer. It is of use as a TID, and never 0.
    """

    def __init__(self, books, params, lab):
        self._books, self._lab = books, lab
        self._timeout_ns = params.timeout_ms * NS_PER_MS
        self._turns = [0] * params.outstanding
        self._free = list(range(params.outstanding))[::-1]
        self._reads = {}  # TID to [number, when it was sent]
        self._kept = 0  # of verify
        self.verify, self.warmup = threading.Event(), threading.Event()
        self._in_warmup = False

    def next(self):
        """A read to be sent, as (TID, object, EPC); None if no other one may be under way. It waits for the phase that the read belongs to."""
        if not self._free or (self._kept < ROUND and self._reads):
            return None
        if self._kept < ROUND:
            self.verify.wait()
            number = self._kept
        else:
            if not self._in_warmup:
                self.warmup.wait()
                self._in_warmup = True
            number = self._books.next()
        place = self._free.pop()
        turn = self._turns[place] = self._turns[place] % TURNS + 1
        tid = turn * PLACES + place
        self._reads[tid] = [number, 0]
        return tid, *READS[number % ROUND]

    def sent(self, tid, at_ns):
        """To be called right before a read is sent, with the clock as it was read then."""
        self._reads[tid][1] = at_ns

    def asked(self, tid):
        """What the read of that number is of, as (object, EPC); None if it is not under way."""
        read = self._reads.get(tid)
        return None if read is None else READS[read[0] % ROUND]

    def answered(self, tid, value, at_ns):
        """Count an answer; None for a refusal. One to a read that is not under way is late."""
        read = self._reads.pop(tid, None)
        if read is None:
            self._books.come_late()
            return
        self._free.append(tid % PLACES)
        if self._in_warmup:
            self._books.took(read[0], value, read[1], at_ns)
            return
        self._books.keep(read[0], value)
        self._kept += 1
        if self._kept == ROUND:
            self._lab.verified(*self._books.verified())

    def look(self, now_ns):
        """Give up what was sent too long ago: for one who waited LOOK_S for nothing."""
        for tid, (_, sent_ns) in list(self._reads.items()):
            if now_ns - sent_ns > self._timeout_ns:
                if not self._in_warmup:
                    raise Lost(name_of(self.asked(tid)))
                del self._reads[tid]
                self._free.append(tid % PLACES)
                self._books.lose()


def serve_controller(lab, setup, params, library):
    """Take the lab's events until stop. `library` has `find()`, which returns once the node at peer is known to have the
    lighting, and `read(object, epc)`, which gives the value or raises Lost or Refused; `outstanding` threads call it.
    """
    books = Books(params, setup.seed)

    def verify():
        for index, read in enumerate(READS):
            books.keep(index, library.read(*read))
        lab.verified(*books.verified())

    def warmup():
        for _ in range(params.outstanding):
            _spawn(lab, read_on, books, library.read)

    _serve(lab, books, library.find, {"verify": verify, "warmup": warmup})


def serve_runner(lab, setup, params, runner):
    """Take the lab's events until stop. `runner` has `find()`, as above, and `run(reads)`, the closed loop over an UnderWay, which never ends."""
    books = Books(params, setup.seed)
    reads = UnderWay(books, params, lab)

    def find():
        runner.find()
        _spawn(lab, runner.run, reads)

    _serve(lab, books, find, {"verify": reads.verify.set, "warmup": reads.warmup.set})


def _serve(lab, books, find, phases):
    lab.answer_marks(books.values)
    try:
        for event in iter(lab.next, Stop()):
            match event:
                case Signal():
                    begun_ns = monotonic_ns()
                    find()
                    lab.connected([monotonic_ns() - begun_ns])
                case Start(phase="measure", at_ns=at_ns):
                    books.measure(at_ns)
                case Start(phase=phase):
                    phases[phase]()
        lab.result(books.values(), books.histograms())
    except Exception as error:  # whatever a library may raise
        lab.failed(repr(error))


def _spawn(lab, run, *args):
    threading.Thread(target=_guarded, args=(lab, run, *args), daemon=True).start()


def _guarded(lab, run, *args):
    try:
        run(*args)
    except Exception as error:
        lab.failed(repr(error))


def read_on(books, read):
    """The closed loop of one thread, over a call that gives the value."""
    while True:
        number, sent_ns = books.next(), monotonic_ns()
        try:
            value = read(*READS[number % ROUND])
        except (Lost, Refused) as error:
            books.failed(number, error, sent_ns, monotonic_ns())
        else:
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
        number, sent_ns = books.next(), monotonic_ns()
        try:
            value = await read(*READS[number % ROUND])
        except (Lost, Refused) as error:
            books.failed(number, error, sent_ns, monotonic_ns())
        else:
            books.took(number, value, sent_ns, monotonic_ns())


def serve_device(lab):
    """Tell controller that the device answers, and take the lab's events until stop."""
    lab.answer_marks(dict)
    lab.signal("controller", {"ready": True})
    lab.connected([])
    while not isinstance(lab.next(), Stop):
        pass
    lab.result({})
