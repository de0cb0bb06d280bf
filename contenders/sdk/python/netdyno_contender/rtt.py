"""What every adapter of the rtt workload needs around its runtime's calls.

The event loop changes these objects, and any thread may read their counters.
"""

import asyncio
from dataclasses import dataclass, fields
from time import monotonic_ns

from .histogram import Histogram
from .payload import HEADER, Digest, body_of

HELLO = 2**64 - 1  # the sequence of the message that sets a lane up
NS_PER_S = 10**9
NS_PER_MS = 10**6
LOOK_S = 0.1  # how often lanes are looked at for what is lost
TASK_ROUNDS = 100
TASK_WAIT_S = 0.001

BOUNDS = {
    "message_bytes": (HEADER.size, 60_000),
    "rate": (0, 1_000_000),
    "outstanding": (1, 1000),
    "tasks": (0, 10_000),
    "echo_delay_ns": (0, 1_000_000),
    "timeout_ms": (1, 60_000),
    "seconds": (0, 3600),
    "verify_messages": (1, 100_000),
}
CHOICES = {"transport": ("udp", "tcp"), "pacing": ("spin", "timer")}


@dataclass(frozen=True)
class Rtt:
    """The parameters that a contender needs."""

    transport: str
    message_bytes: int
    rate: int
    outstanding: int
    tasks: int
    pacing: str
    echo_delay_ns: int
    timeout_ms: int
    seconds: float
    verify_messages: int

    @classmethod
    def of(cls, setup):
        """Read and check the parameters; ValueError says what is wrong."""
        values = {field.name: setup.params.get(field.name) for field in fields(cls)}
        for field in fields(cls):
            value = values[field.name]
            numbers = (int, float) if field.type is float else (int,)
            if field.name in CHOICES:
                good = value in CHOICES[field.name]
            else:
                low, high = BOUNDS[field.name]
                good = type(value) in numbers and low <= value <= high
            if not good:
                raise ValueError(f"params: {field.name} is {value!r}")
        return cls(**values)


def port_of(body):
    """The port in pong's signal."""
    port = body.get("port") if isinstance(body, dict) else None
    if type(port) is not int or not 1 <= port <= 65_535:
        raise ValueError(f"a signal without pong's port: {body!r}")
    return port


def due_ns(t0_ns, rate, number):
    """When a request is due, by its number over all lanes."""
    return t0_ns + number * NS_PER_S // rate


def work(x):
    """The computation of a background task."""
    for _ in range(TASK_ROUNDS):
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
    return x


class Tasks:
    """The background tasks of a role, on asyncio."""

    def __init__(self, params):
        self._count = params.tasks
        self._tasks = []  # the loop itself holds them only weakly
        self.runs = 0

    def begin(self):
        self._tasks = [asyncio.create_task(self._run(i + 1)) for i in range(self._count)]

    async def _run(self, x):
        while True:
            x = work(x)
            self.runs += 1
            await asyncio.sleep(TASK_WAIT_S)


def wait_ns(duration_ns):
    """Wait by reading the clock."""
    if duration_ns:
        until_ns = monotonic_ns() + duration_ns
        while monotonic_ns() < until_ns:
            pass


class Books:
    """What ping counts and measures over all its lanes."""

    def __init__(self, params):
        self._params = params
        self.requests = self.messages = self.lost = self.late = self.strange = 0
        self._latency, self._service, self._lateness = Histogram(), Histogram(), Histogram()
        self._from_ns = self._until_ns = 0  # the measured window: none yet

    def measure(self, from_ns):
        """Begin the measured window."""
        self._from_ns, self._until_ns = from_ns, from_ns + round(self._params.seconds * NS_PER_S)

    def echo(self, due_ns, sent_ns, at_ns):
        """Count an echo taken."""
        self.messages += 1
        if self._from_ns <= at_ns < self._until_ns:
            if self._params.rate == 0:
                self._latency.record(at_ns - sent_ns)
            else:
                self._latency.record(at_ns - due_ns)
                self._service.record(at_ns - sent_ns)
                self._lateness.record(sent_ns - due_ns)

    def values(self, task_runs):
        messages = self.messages
        return {
            "requests": self.requests, "messages": messages, "bytes": messages * self._params.message_bytes,
            "lost": self.lost, "late": self.late, "strange": self.strange, "task_runs": task_runs,
        }  # fmt: skip

    def histograms(self):
        histograms = {"latency": self._latency}
        if self._params.rate:
            histograms |= {"service": self._service, "lateness": self._lateness}
        return {name: histogram.encode() for name, histogram in histograms.items()}


class Lane:
    """One lane: at most one request under way.

    Once nothing is: `prepare`, wait until the next is due, send what `request` returns, `sent`.
    """

    def __init__(self, params, books, stream):
        self._params, self._books, self.stream = params, books, stream
        self._request = bytearray(params.message_bytes)
        self._header = b""  # of the request under way
        self._next = 0  # sequence of the next request
        self._due_ns = self._sent_ns = 0
        self.busy = False  # a request is under way

    def hello(self):
        """The message that sets the lane up; its echo is the same."""
        return HEADER.pack(HELLO, 0, 0) + bytes(self._params.message_bytes - HEADER.size)

    def verify(self, seed):
        """The next request of the verify phase."""
        self._request[HEADER.size :] = body_of(seed, self.stream, self._next, len(self._request) - HEADER.size)
        self.prepare()
        return self.request()

    def verified(self, message, digest: Digest):
        """Put the echo of a request of verify into the digest; ValueError if a byte of it is wrong."""
        if message != self._request:
            raise ValueError(f"lane {self.stream}: an echo that is not as it was sent")
        digest.add(message)

    @property
    def number(self):
        """The number of the lane's next request, over all lanes, from the start of warmup."""
        return (self._next - self._params.verify_messages) * self._params.outstanding + self.stream

    def prepare(self):
        """Make the next request: a fresh header. It is not due yet, or nobody waits for it."""
        self._header = HEADER.pack(self._next, self.stream, 0)
        self._request[: HEADER.size] = self._header

    def request(self, due_ns=0):
        """The request prepared: nothing but the sending call may follow."""
        self._next += 1
        self.busy = True
        self._due_ns = due_ns
        self._sent_ns = monotonic_ns()
        return self._request

    def sent(self):
        """Count the request, right after the sending call."""
        self._books.requests += 1

    def take(self, message, at_ns):
        """Take a message received at a time; whether it is the echo awaited."""
        if len(message) == self._params.message_bytes:
            if self.busy and message.startswith(self._header):
                self.busy = False
                self._books.echo(self._due_ns, self._sent_ns, at_ns)
                return True
            sequence, stream, zero = HEADER.unpack_from(message)
            if sequence < self._next and stream == self.stream and zero == 0:
                self._books.late += 1
                return False
        self._books.strange += 1
        return False

    def lose(self, now_ns):
        """Give up the request under way, if it is overdue; whether it was."""
        if not self.busy or now_ns - self._sent_ns <= self._params.timeout_ms * NS_PER_MS:
            return False
        self.busy = False
        self._books.lost += 1
        return True
