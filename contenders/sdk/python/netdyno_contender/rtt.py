"""Support for adapters of the rtt workload.

The event loop modifies these objects; any thread may read their counters.
"""

import asyncio
from dataclasses import dataclass, fields
from time import monotonic_ns

from .histogram import Histogram
from .payload import HEADER, Digest, body_of

HELLO = 2**64 - 1  # the sequence number of the message that sets up a lane
NS_PER_S = 10**9
NS_PER_MS = 10**6
TICK_S = 0.1  # interval at which lanes are checked for lost requests
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
    """The parameters of the workload."""

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
    def from_setup(cls, setup):
        """Read and check the parameters. Raises ValueError if one is wrong."""
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
        raise ValueError(f"signal without pong's port: {body!r}")
    return port


def due_ns(t0_ns, rate, number):
    """The time at which a request is due. `number` counts over all lanes."""
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
        self._tasks = []  # the event loop has only weak references
        self.runs = 0

    def begin(self):
        self._tasks = [asyncio.create_task(self._run(i + 1)) for i in range(self._count)]

    async def _run(self, x):
        while True:
            x = work(x)
            self.runs += 1
            await asyncio.sleep(TASK_WAIT_S)


def wait_ns(duration_ns):
    """Wait by polling the clock."""
    if duration_ns:
        until_ns = monotonic_ns() + duration_ns
        while monotonic_ns() < until_ns:
            pass


class Counters:
    """The counters and histograms of ping over all lanes."""

    def __init__(self, params):
        self._params = params
        self.requests = self.messages = self.lost = self.late = self.strange = 0
        self._latency, self._service, self._lateness = Histogram(), Histogram(), Histogram()
        self._from_ns = self._until_ns = 0  # the measured window, initially empty

    def measure(self, from_ns):
        """Start the measured window."""
        self._from_ns, self._until_ns = from_ns, from_ns + round(self._params.seconds * NS_PER_S)

    def echo(self, due_ns, sent_ns, at_ns):
        """Count and record an echo."""
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
    """One lane, with at most one outstanding request.

    If none is outstanding, call `prepare`, wait until the next request is due, send the result of `request`, and call `sent`.
    """

    def __init__(self, params, counters, stream):
        self._params, self._counters, self.stream = params, counters, stream
        self._request = bytearray(params.message_bytes)
        self._header = b""  # of the outstanding request
        self._next = 0  # sequence of the next request
        self._due_ns = self._sent_ns = 0
        self.busy = False  # a request is outstanding

    def hello(self):
        """The message that sets up the lane. Its echo is identical."""
        return HEADER.pack(HELLO, 0, 0) + bytes(self._params.message_bytes - HEADER.size)

    def verify(self, seed):
        """The next request of the verify phase."""
        self._request[HEADER.size :] = body_of(seed, self.stream, self._next, len(self._request) - HEADER.size)
        self.prepare()
        return self.request()

    def verified(self, message, digest: Digest):
        """Add the echo of a request of verify to the digest. Raises ValueError if a byte is wrong."""
        if message != self._request:
            raise ValueError(f"lane {self.stream}: the echo of a request is wrong")
        digest.add(message)

    @property
    def number(self):
        """The number of the lane's next request over all lanes, counted from the start of warmup."""
        return (self._next - self._params.verify_messages) * self._params.outstanding + self.stream

    def prepare(self):
        """Prepare the next request with a new header. Call it before the request is due, outside the measured time."""
        self._header = HEADER.pack(self._next, self.stream, 0)
        self._request[: HEADER.size] = self._header

    def request(self, due_ns=0):
        """The prepared request. Call it right before the call that sends."""
        self._next += 1
        self.busy = True
        self._due_ns = due_ns
        self._sent_ns = monotonic_ns()
        return self._request

    def sent(self):
        """Count the request. Call it right after the call that sends."""
        self._counters.requests += 1

    def take(self, message, at_ns):
        """Classify a received message. Returns whether it is the awaited echo."""
        if len(message) == self._params.message_bytes:
            if self.busy and message.startswith(self._header):
                self.busy = False
                self._counters.echo(self._due_ns, self._sent_ns, at_ns)
                return True
            sequence, stream, zero = HEADER.unpack_from(message)
            if sequence < self._next and stream == self.stream and zero == 0:
                self._counters.late += 1
                return False
        self._counters.strange += 1
        return False

    def expire(self, now_ns):
        """Declare the outstanding request lost if it has timed out. Returns whether it has."""
        if not self.busy or now_ns - self._sent_ns <= self._params.timeout_ms * NS_PER_MS:
            return False
        self.busy = False
        self._counters.lost += 1
        return True
