"""The connection to the lab."""

import asyncio
import json
import os
import platform
import threading
import time
from dataclasses import dataclass, field, fields

PROTOCOL_VERSION = 1
MAX_LINE_BYTES = 1 << 20  # without the newline
READ_BYTES = 65536

EXIT_FAILED = 1
EXIT_UNSUPPORTED = 127

PHASES = ("verify", "warmup", "measure")


@dataclass(frozen=True)
class Setup:
    """The configuration of this process."""

    protocol: int
    workload: str
    role: str
    seed: int
    local: str
    peer: str
    params: dict
    capture: bool
    inputs: dict  # paths of the trial's input files, by name


@dataclass(frozen=True)
class Signal:
    """A message from another role, forwarded unchanged. `source` is the protocol's `from`."""

    source: str
    body: object


@dataclass(frozen=True)
class Start:
    """Start a phase: each at most once, in the order of PHASES. `at_ns` is when the line was read."""

    phase: str
    at_ns: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Mark:
    """Answer immediately with the counters."""

    id: int


@dataclass(frozen=True)
class Stop:
    """Send the result and end."""


def now_ns():
    """The time of CLOCK_MONOTONIC, which all processes of a host share."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Lab:
    """The connection to the lab. Any thread may send; one thread at a time may receive events."""

    def __init__(self, stdin=0, stdout=1, leave=os._exit):
        self._stdin, self._stdout, self._leave = stdin, stdout, leave
        self._unread = b""
        self._lock = threading.Lock()  # held while a line is written
        self._next_phase = 0  # index of the next phase that may start
        self._read_values = None

    def unsupported(self, reason):
        """Report unsupported parameters or an unsupported role, and exit. Call it before `ready`."""
        self._send(type="unsupported", reason=reason)
        self._leave(EXIT_UNSUPPORTED)

    def failed(self, reason):
        """Report an error and exit."""
        self._send(type="failed", reason=reason)
        self._leave(EXIT_FAILED)

    def ready(self, name, version):
        runtime = f"{platform.python_implementation()} {platform.python_version()}"
        implementation = {"name": name, "version": version, "language": "python", "runtime": runtime}
        self._send(type="ready", implementation=implementation)

    def signal(self, to, body):
        self._send(type="signal", to=to, body=body)

    def connected(self, setup_ns):
        self._send(type="connected", setup_ns=setup_ns)

    def counters(self, mark, values):
        """Answer a mark. The caller reads the values; the clock is read right after them."""
        self._send(type="counters", id=mark.id, at_ns=now_ns(), values=values)

    def verified(self, digest, messages, length):
        self._send(type="verified", digest=str(digest), messages=messages, bytes=length)

    def result(self, values, histograms=None):
        self._send(type="result", values=values, histograms=histograms or {})

    def answer_marks(self, read_values):
        """Answer marks on the thread that reads stdin, so that a busy event loop does not delay them.

        `read_values` is called on that thread. Marks are no longer returned as events.
        """
        self._read_values = read_values

    def next(self):
        """Wait for the next event. An invalid line or a closed stdin ends the process."""
        while True:
            event = self._event(self._read_message())
            if not isinstance(event, Mark) or self._read_values is None:
                return event
            self.counters(event, self._read_values())

    async def events(self):
        """The events up to and including Stop, read by a separate thread."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue()
        threading.Thread(target=self._pump, args=(loop, queue), daemon=True).start()
        event = None
        while not isinstance(event, Stop):
            event = await queue.get()
            yield event

    def _pump(self, loop, queue):
        event = None
        while not isinstance(event, Stop):
            event = self.next()
            loop.call_soon_threadsafe(queue.put_nowait, event)

    def _event(self, message):
        try:
            match message.pop("type"):
                case "signal":
                    return Signal(message["from"], message["body"])
                case "start":
                    return self._start(message["phase"])
                case "mark":
                    return Mark(message["id"])
                case "stop":
                    return Stop()
                case kind:
                    raise ValueError(f"message type {kind!r} is unknown")
        except (KeyError, ValueError) as error:
            return self.failed(f"invalid line from the lab: {error!r}")

    def _start(self, phase):
        index = PHASES.index(phase)
        if index < self._next_phase:
            raise ValueError(f"phase {phase!r} is out of order")
        self._next_phase = index + 1
        return Start(phase, now_ns())

    def _read_message(self):
        line = self._read_line()
        try:
            message = json.loads(line)
        except ValueError as error:
            return self.failed(f"a line from the lab is not JSON: {error}")
        if not isinstance(message, dict):
            return self.failed("a line from the lab is not a JSON object")
        return message

    def _read_line(self):
        # Not sys.stdin: a blocked reader holds a lock that the interpreter needs at exit.
        parts = [self._unread]
        while b"\n" not in parts[-1]:
            if sum(map(len, parts)) > MAX_LINE_BYTES:
                return self.failed(f"a line from the lab is longer than {MAX_LINE_BYTES} bytes")
            part = os.read(self._stdin, READ_BYTES)
            if not part:
                return self._leave(EXIT_FAILED)  # the lab has ended
            parts.append(part)
        line, _, self._unread = b"".join(parts).partition(b"\n")
        return line

    def _send(self, **message):
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            with self._lock:
                while line:
                    line = line[os.write(self._stdout, line) :]
        except OSError:
            self._leave(EXIT_FAILED)


def connect(lab=None):
    """Read the setup line and return a Lab and a Setup."""
    lab = lab or Lab()
    message = lab._read_message()
    if message.get("type") != "setup":
        lab.failed(f"the first message is {message.get('type')!r}, expected setup")
    if message.get("protocol") != PROTOCOL_VERSION:
        lab.unsupported(f"protocol version {message.get('protocol')!r}")
    message.setdefault("inputs", {})
    for field in fields(Setup):
        if type(message.get(field.name)) is not field.type:
            lab.failed(f"setup: {field.name} is {message.get(field.name)!r}, not of type {field.type.__name__}")
    return lab, Setup(**{field.name: message[field.name] for field in fields(Setup)})
