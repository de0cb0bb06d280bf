"""The frame of a datachannel adapter on asyncio: its main loop, a task for each connection, the lab's signals, and how tasks end.

Knows no library: an adapter derives its roles from `Offerer` and `Answerer`, with `run` for the life of one connection, and ends in `contend`.
"""

import asyncio
import importlib.metadata

from .datachannel import DataChannel, SetupTimes
from .lab import Signal, Start, connect
from .transfer import Sink, Source, source_values

# Signals of one connection that it has not taken yet: one description and the candidates of a host with very many
# addresses.
MAX_WAITING_SIGNALS = 64


class Peers:
    """What both roles have in common."""

    peer = steps = None  # the other role, and the steps of a connection's setup
    lost = ()  # exceptions of the library that say no more than that the peer is gone

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
        """The whole life of one connection: the adapter's."""
        raise NotImplementedError

    def spawn(self, connection, coroutine):
        """Run a coroutine whose failure is the end, unless all it says is that the peer is gone, and it may be."""
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
        """Its end is the end. `pc` has W3C's names, and `on`, as aiortc has."""

        @pc.on("connectionstatechange")
        def _():
            if pc.connectionState in ("failed", "closed") and not self.may_lose_peer:
                self.fail(connection, f"the peer connection is {pc.connectionState}{self.why(pc)}")

    def why(self, pc):
        """What the library says of a connection that has ended."""
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
        """Every connection is up."""


class Offerer(Peers):
    """Creates the connections, and sends what its sources make: in `verify`, then in `flood` until it may lose its peer."""

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
    """Answers the offers, and gives what comes to its sink."""

    peer, steps = "offerer", 1

    def __init__(self, lab, setup, params):
        self.sink = Sink(setup, params)
        super().__init__(lab, setup, params)

    def connected(self):
        self.may_lose_peer = True  # the offerer may stop, and be gone, first

    def start(self, phase):
        if phase == "verify":
            self.spawn(0, self._verify())

    async def _verify(self):
        await self.sink.complete.wait()
        self.lab.verified(*self.sink.verified())

    def values(self):
        return self.sink.values()


def contend(module, roles, max_message_bytes, refuse=lambda setup: None):
    """The whole life of an adapter: `roles` by their names, of the distribution `module`.

    `refuse` says why this setup cannot be served, or None. Marks are answered on the thread that reads stdin, because a
    turn of a full event loop can take longer than a mark may.
    """
    lab, setup = connect()
    asyncio.run(serve(lab, setup, module, roles, checked(lab, setup, roles, max_message_bytes, refuse)))


def checked(lab, setup, roles, max_message_bytes, refuse):
    """The parameters, if this role and these parameters can be served; otherwise the process ends here."""
    if setup.workload != "datachannel" or setup.role not in roles:
        lab.unsupported(f"workload {setup.workload!r}, role {setup.role!r}")
    try:
        params = DataChannel.of(setup)
        why = refuse(setup)
    except ValueError as error:
        return lab.failed(str(error))
    if params.message_bytes > max_message_bytes:
        why = f"messages of more than {max_message_bytes} bytes"
    if why:
        lab.unsupported(why)
    return params


async def serve(lab, setup, module, roles, params):
    """The conversation, from `ready` to `result`."""
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
