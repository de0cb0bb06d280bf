"""A framework for datachannel adapters on asyncio: the main loop, a task for each connection, the lab's signals, and error handling.

It is independent of the library: an adapter derives its roles from `Offerer` and `Answerer`, implements `run` for one
connection, and calls `contend`.
"""

import asyncio
import importlib.metadata

from .datachannel import DataChannel, SetupTimes
from .lab import Signal, Start, connect
from .transfer import Sink, Source, source_values

# The maximum number of queued signals of a connection: one description, and the candidates of a host with many addresses.
MAX_WAITING_SIGNALS = 64


class Peers:
    """The common part of both roles."""

    peer = steps = None  # the other role, and the steps of a connection's setup
    lost = ()  # exceptions of the library which only mean that the peer has gone

    def __init__(self, lab, setup, params):
        self.lab, self.local, self.params = lab, setup.local, params
        self.times = SetupTimes(params.pairs, self.steps)
        self.may_lose_peer = False
        self._signals = [asyncio.Queue(MAX_WAITING_SIGNALS) for _ in range(params.pairs)]
        self._tasks = set()
        for connection in range(params.pairs):
            self.spawn(connection, self.run(connection))
        self.spawn(0, self._announce())

    async def run(self, connection):
        """Run one connection. Implemented by the adapter."""
        raise NotImplementedError

    def spawn(self, connection, coroutine):
        """Run a coroutine. An exception ends the process, except that of a lost peer if the peer may be lost."""
        task = asyncio.create_task(self._guard(connection, coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guard(self, connection, coroutine):
        try:
            await coroutine
        except Exception as error:
            if not (self.may_lose_peer and isinstance(error, self.lost)):
                self.fail(connection, repr(error))

    def fail(self, connection, reason):
        self.lab.failed(f"connection {connection}: {reason}")

    def watch(self, connection, pc):
        """End the process if the connection ends. `pc` has the W3C's names, and `on` as in aiortc."""

        @pc.on("connectionstatechange")
        def _():
            if pc.connectionState in ("failed", "closed") and not self.may_lose_peer:
                self.fail(connection, f"the peer connection is {pc.connectionState}{self.why(pc)}")

    def why(self, pc):
        """The library's reason for the end of a connection."""
        return ""

    def signal(self, body):
        """Called for each signal of the other role."""
        try:
            self._signals[self.params.connection(body)].put_nowait(body)
        except (ValueError, asyncio.QueueFull) as error:
            self.lab.failed(f"signal: {error!r}")

    async def next_signal(self, connection):
        return await self._signals[connection].get()

    async def _announce(self):
        await self.times.done.wait()
        self.connected()
        self.lab.connected(self.times.setup_ns)

    def connected(self):
        """Called when all connections are established."""


class Offerer(Peers):
    """Creates the connections and sends the messages of its sources: in `verify`, then in `flood` until stop."""

    peer, steps = "answerer", 2

    def __init__(self, lab, setup, params):
        self.sources = [Source(setup, params, connection) for connection in range(params.pairs)]
        self.verify, self.flood = asyncio.Event(), asyncio.Event()
        super().__init__(lab, setup, params)

    def start(self, phase):
        (self.verify if phase == "verify" else self.flood).set()

    def values(self):
        return source_values(self.params, self.sources)


class Answerer(Peers):
    """Answers the offers and passes received messages to its sink."""

    peer, steps = "offerer", 1

    def __init__(self, lab, setup, params):
        self.sink = Sink(setup, params)
        super().__init__(lab, setup, params)

    def connected(self):
        self.may_lose_peer = True  # the lab stops the offerer first

    def start(self, phase):
        if phase == "verify":
            self.spawn(0, self._verify())

    async def _verify(self):
        await self.sink.complete.wait()
        self.lab.verified(*self.sink.verified())

    def values(self):
        return self.sink.values()


def contend(module, roles, max_message_bytes, refuse=lambda setup: None):
    """Run an adapter with `roles` by name, for the distribution `module`.

    `refuse` returns the reason why a setup is unsupported, or None. The thread that reads stdin answers marks, because an
    iteration of a busy event loop can exceed the time limit of a mark.
    """
    lab, setup = connect()
    asyncio.run(serve(lab, setup, module, roles, checked(lab, setup, roles, max_message_bytes, refuse)))


def checked(lab, setup, roles, max_message_bytes, refuse):
    """The parameters. An unsupported role or unsupported parameters end the process."""
    if setup.workload != "datachannel" or setup.role not in roles:
        lab.unsupported(f"workload {setup.workload!r}, role {setup.role!r}")
    try:
        params = DataChannel.from_setup(setup)
        why = refuse(setup)
    except ValueError as error:
        return lab.failed(str(error))
    if params.message_bytes > max_message_bytes:
        why = f"messages of more than {max_message_bytes} bytes"
    if why:
        lab.unsupported(why)
    return params


async def serve(lab, setup, module, roles, params):
    """Serve the lab from `ready` to `result`."""
    role = roles[setup.role](lab, setup, params)
    lab.answer_marks(role.values)
    lab.ready(module, importlib.metadata.version(module))
    async for event in lab.events():
        match event:
            case Signal(body=body):
                role.signal(body)
            case Start(phase=phase):
                role.start(phase)
    role.may_lose_peer = True
    lab.result(role.values())
