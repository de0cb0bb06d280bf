"""Support for contenders of the echonet workload: the twelve reads, the checks of their values, the controller's counters, and
the closed loop. The loop calls a function that returns the value (`serve_controller`), awaits a coroutine
(`serve_controller_async`), or is implemented by the adapter (`serve_runner`). The module opens no sockets.

A lock protects the counters, because several threads may run the loop, and the thread that reads stdin answers marks.
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
TICK_S = 0.1  # maximum interval at which an adapter's loop checks for lost reads
PLACES = 128  # of outstanding reads
TURNS = 511  # of a place; then the numbers wrap around

PAYLOAD_BYTES = 13  # at the end of the identification number
IDENTIFICATION_BYTES = 17
LENGTHS = {0x82: 4, 0x8A: 3}
MAPS = (0x9D, 0x9E, 0x9F)
READABLE_CODES = {0x80, 0x82, 0x83, 0x8A, 0x9D, 0x9E, 0x9F}  # in every map of readable properties; several libraries lose others
MAX_LISTED_CODES = 15
BITMAP_BYTES = 17
FIRST_CODE = 0x80
EXACT = {
    0x80: ("30",),
    0xD3: ("000001",),
    0xD4: ("0002",),
    0xD6: ("01029101",),
    0xD7: ("010291", "0202910ef0", "020ef00291"),  # several libraries count the node profile, which the contract tolerates
}

BOUNDS = {"outstanding": (1, 128), "timeout_ms": (100, 60_000), "seconds": (0.2, 3600)}


class Lost(Exception):
    """No answer arrived in time."""


class Refused(Exception):
    """The device refused the read."""


@dataclass(frozen=True)
class Echonet:
    """The parameters of the workload and the addresses."""

    local: str
    peer: str
    outstanding: int
    timeout_ms: int
    seconds: float

    @classmethod
    def from_setup(cls, setup):
        """Read and check the parameters. Raises ValueError if one is wrong."""
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
    """Read the setup and return a Lab, a Setup and an Echonet. An unsupported setup ends the process."""
    lab, setup = connect()
    if setup.workload != "echonet" or setup.role not in roles:
        lab.unsupported(f"workload {setup.workload!r}, role {setup.role!r}")
    try:
        return lab, setup, Echonet.from_setup(setup)
    except ValueError as error:
        return lab.failed(str(error))


def payload(seed):
    """The last bytes of the device's identification number."""
    message = bytearray(PAYLOAD_BYTES)
    fill(message, seed, 0, 0)
    return bytes(message)


def identification(seed):
    """The value of the node profile's identification number."""
    return b"\xfe" + MANUFACTURER_CODE.to_bytes(3, "big") + payload(seed)


def map_codes(value):
    """The codes of a property map in either form, or None if it is not a map."""
    count = value[0] if value else None
    if count is None or count <= MAX_LISTED_CODES:
        listed = count is not None and len(value) == count + 1 and all(code >= FIRST_CODE for code in value[1:])
        return set(value[1:]) if listed else None
    if len(value) != BITMAP_BYTES:
        return None
    return {FIRST_CODE + (bit << 4) + i for i, bits in enumerate(value[1:]) for bit in range(8) if bits >> bit & 1}


def same_map(read, value, other):
    """Whether two values are maps of the same codes, in any order."""
    return read[1] in MAPS and value is not None and len(value) == len(other) and map_codes(value) == map_codes(other)


def check(read, value, seed):
    """Check a value. Raises ValueError if it is wrong."""
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


class Counters:
    """The controller's counters and histogram."""

    def __init__(self, params, seed):
        self._window_ns, self._seed = round(params.seconds * NS_PER_S), seed
        self._expected = [b""] * len(READS)  # set in verify
        self._from_ns = self._until_ns = 0  # the measured window, initially empty
        self._latency = Histogram()
        self._lock = threading.Lock()
        self._next = 0
        self.reads = self.bytes = self.wrong = self.lost = self.late = 0

    def verify(self, index, value):
        """Check and store a value of verify; None is a refusal. Raises ValueError if the value is wrong."""
        if value is None:
            raise ValueError(f"{name_of(READS[index])}: refused")
        value = bytes(value)
        check(READS[index], value, self._seed)
        self._expected[index] = value

    def verified(self):
        """The content of `verified`: digest, messages and bytes."""
        received = self._expected[READS.index((NODE_PROFILE, 0x83))][-PAYLOAD_BYTES:]
        digest = Digest()
        digest.add(received)
        return digest, 1, len(received)

    def measure(self, from_ns):
        """Start the measured window."""
        self._from_ns, self._until_ns = from_ns, from_ns + self._window_ns

    def next(self):
        """The number n of the next read, which is READS[n % len(READS)]."""
        with self._lock:
            number = self._next
            self._next = number + 1
        return number

    def record(self, number, value, sent_ns, at_ns):
        """Count the answer to a read; None is a refusal."""
        with self._lock:
            index = number % ROUND
            if value != self._expected[index] and not same_map(READS[index], value, self._expected[index]):
                self._tell(index, value)
            if value is not None:
                self.bytes += len(value)
            self.reads += 1
            if self._from_ns <= at_ns < self._until_ns:
                self._latency.record(at_ns - sent_ns)

    def record_error(self, number, error, sent_ns, at_ns):
        """Count a read without a value: Lost or Refused."""
        if isinstance(error, Lost):
            self.record_lost()
        else:
            self.record(number, None, sent_ns, at_ns)

    def record_lost(self):
        """Count a read without an answer."""
        with self._lock:
            self.lost += 1

    def record_late(self):
        """Count an answer to a lost read."""
        with self._lock:
            self.late += 1

    def _tell(self, index, value):
        if not self.wrong:
            got = "refused" if value is None else bytes(value).hex()
            print(f"{name_of(READS[index])}: {got}, but {self._expected[index].hex()} in verify", file=sys.stderr)
        self.wrong += 1

    def values(self):
        with self._lock:
            return {"reads": self.reads, "bytes": self.bytes, "wrong": self.wrong, "lost": self.lost, "late": self.late}

    def histograms(self):
        with self._lock:
            return {"latency": self._latency.encode()}


class Outstanding:
    """The outstanding reads of an adapter's own loop. It is used by one thread.

    The number of a read is 128 * turn + place: it identifies the place, and the turn, which starts from 1, reveals stale answers.
    It is never 0 and can be used as a TID.
    """

    def __init__(self, counters, params, lab):
        self._counters, self._lab = counters, lab
        self._timeout_ns = params.timeout_ms * NS_PER_MS
        self._turns = [0] * params.outstanding
        self._free = list(range(params.outstanding))[::-1]
        self._reads = {}  # TID to [number, time of sending]
        self._kept = 0  # number of finished reads of verify
        self.verify, self.warmup = threading.Event(), threading.Event()
        self._in_warmup = False

    def next(self):
        """The next read as (TID, object, EPC), or None if no further read may be outstanding. Waits for the phase of the read."""
        if not self._free or (self._kept < ROUND and self._reads):
            return None
        if self._kept < ROUND:
            self.verify.wait()
            number = self._kept
        else:
            if not self._in_warmup:
                self.warmup.wait()
                self._in_warmup = True
            number = self._counters.next()
        place = self._free.pop()
        turn = self._turns[place] = self._turns[place] % TURNS + 1
        tid = turn * PLACES + place
        self._reads[tid] = [number, 0]
        return tid, *READS[number % ROUND]

    def sent(self, tid, at_ns):
        """Record the time of a read. Call it right before sending the read."""
        self._reads[tid][1] = at_ns

    def find(self, tid):
        """The outstanding read with this number as (object, EPC), or None."""
        read = self._reads.get(tid)
        return None if read is None else READS[read[0] % ROUND]

    def answered(self, tid, value, at_ns):
        """Record an answer; None is a refusal. An answer to a read that is not outstanding is late."""
        read = self._reads.pop(tid, None)
        if read is None:
            self._counters.record_late()
            return
        self._free.append(tid % PLACES)
        if self._in_warmup:
            self._counters.record(read[0], value, read[1], at_ns)
            return
        self._counters.verify(read[0], value)
        self._kept += 1
        if self._kept == ROUND:
            self._lab.verified(*self._counters.verified())

    def expire(self, now_ns):
        """Mark reads as lost that have timed out. Call it if nothing arrives for TICK_S."""
        for tid, (_, sent_ns) in list(self._reads.items()):
            if now_ns - sent_ns > self._timeout_ns:
                if not self._in_warmup:
                    raise Lost(name_of(self.find(tid)))
                del self._reads[tid]
                self._free.append(tid % PLACES)
                self._counters.record_lost()


def serve_controller(lab, setup, params, library):
    """Handle the lab's events until stop. `library` has `find()`, which returns when the node at peer is known to have the
    lighting, and `read(object, epc)`, which returns the value or raises Lost or Refused. `outstanding` threads call `read`.
    """
    counters = Counters(params, setup.seed)

    def verify():
        for index, read in enumerate(READS):
            counters.verify(index, library.read(*read))
        lab.verified(*counters.verified())

    def warmup():
        for _ in range(params.outstanding):
            _spawn(lab, read_on, counters, library.read)

    _serve(lab, counters, library.find, {"verify": verify, "warmup": warmup})


def serve_runner(lab, setup, params, runner):
    """Handle the lab's events until stop. `runner` has `find()`, as above, and `run(reads)`, an endless closed loop over an Outstanding."""
    counters = Counters(params, setup.seed)
    reads = Outstanding(counters, params, lab)

    def find():
        runner.find()
        _spawn(lab, runner.run, reads)

    _serve(lab, counters, find, {"verify": reads.verify.set, "warmup": reads.warmup.set})


def _serve(lab, counters, find, phases):
    lab.answer_marks(counters.values)
    try:
        for event in iter(lab.next, Stop()):
            match event:
                case Signal():
                    begun_ns = monotonic_ns()
                    find()
                    lab.connected([monotonic_ns() - begun_ns])
                case Start(phase="measure", at_ns=at_ns):
                    counters.measure(at_ns)
                case Start(phase=phase):
                    phases[phase]()
        lab.result(counters.values(), counters.histograms())
    except Exception as error:  # whatever a library may raise
        lab.failed(repr(error))


def _spawn(lab, run, *args):
    threading.Thread(target=_guarded, args=(lab, run, *args), daemon=True).start()


def _guarded(lab, run, *args):
    try:
        run(*args)
    except Exception as error:
        lab.failed(repr(error))


def read_on(counters, read):
    """The closed loop of one thread over a function that returns the value."""
    while True:
        number, sent_ns = counters.next(), monotonic_ns()
        try:
            value = read(*READS[number % ROUND])
        except (Lost, Refused) as error:
            counters.record_error(number, error, sent_ns, monotonic_ns())
        else:
            counters.record(number, value, sent_ns, monotonic_ns())


async def serve_controller_async(lab, setup, params, library):
    """Like `serve_controller`, for a library whose `find` and `read` are coroutines: `outstanding` tasks call `read`."""
    counters, tasks = Counters(params, setup.seed), []
    lab.answer_marks(counters.values)

    async def guarded():
        try:
            await read_on_async(counters, library.read)
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
                        counters.verify(index, await library.read(*read))
                    lab.verified(*counters.verified())
                case Start(phase="warmup"):
                    tasks += [asyncio.create_task(guarded()) for _ in range(params.outstanding)]
                case Start(at_ns=at_ns):
                    counters.measure(at_ns)
        lab.result(counters.values(), counters.histograms())
    except Exception as error:  # whatever a library may raise
        lab.failed(repr(error))


async def read_on_async(counters, read):
    """The closed loop of one task."""
    while True:
        number, sent_ns = counters.next(), monotonic_ns()
        try:
            value = await read(*READS[number % ROUND])
        except (Lost, Refused) as error:
            counters.record_error(number, error, sent_ns, monotonic_ns())
        else:
            counters.record(number, value, sent_ns, monotonic_ns())


def serve_device(lab):
    """Signal to the controller that the device answers, and handle the lab's events until stop."""
    lab.answer_marks(dict)
    lab.signal("controller", {"ready": True})
    lab.connected([])
    while not isinstance(lab.next(), Stop):
        pass
    lab.result({})
