import asyncio
import unittest
from types import SimpleNamespace
from unittest import mock

from netdyno_contender import DataChannel, Signal, Start, Stop, peers
from tests.test_lab import PARAMS, SETUP, converse, encode


class Gone(Exception):
    """A library's exception for a lost peer."""


class Ended(Exception):
    """Replaces the end of the process."""


class Lab:
    """A fake lab that stores calls. `failed` raises an exception."""

    def __init__(self):
        self.said = []

    def failed(self, reason):
        self.said.append(("failed", reason))
        raise Ended

    def __getattr__(self, name):
        return lambda *args: self.said.append((name, *args))


class Pc:
    """A fake connection whose handler the test calls."""

    connectionState = "new"

    def on(self, _):
        return lambda handler: setattr(self, "changed", handler)


class Answerer(peers.Answerer):
    lost = (Gone,)

    async def run(self, connection):
        self.times.begin(connection)
        body = await self.next_signal(connection)
        self.times.step(connection)
        raise body["raises"]


def signal(connection, raises=None):
    return {"connection": connection, "raises": raises}


async def turns():
    for _ in range(20):
        await asyncio.sleep(0)


class Tasks(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.lab = Lab()
        self.setup = SimpleNamespace(seed=5, local="198.18.0.1")
        self.params = DataChannel(**PARAMS)

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # for failed tasks

    def failures(self):
        return [words[1] for words in self.lab.said if words[0] == "failed"]

    async def test_an_exception_ends_the_process(self):
        role = Answerer(self.lab, self.setup, self.params)
        await turns()
        role.signal(signal(1, Gone("early")))
        await turns()
        self.assertEqual(self.failures(), ["connection 1: Gone('early')"])
        self.assertNotIn("connected", [words[0] for words in self.lab.said])

    async def test_only_a_lost_peer_is_tolerated(self):
        for raises, expected in ((Gone(), []), (ValueError("wrong"), ["connection 1: ValueError('wrong')"])):
            with self.subTest(raises):
                self.lab.said.clear()
                role = Answerer(self.lab, self.setup, self.params)
                role.may_lose_peer = True
                role.signal(signal(1, raises))
                await turns()
                self.assertEqual(self.failures(), expected)

    async def test_connected_is_reported_when_all_are(self):
        role = Answerer(self.lab, self.setup, self.params)
        role.may_lose_peer = True
        for connection in range(2):
            self.assertEqual(self.lab.said, [])
            role.signal(signal(connection, Gone()))
            await turns()
        ((name, setup_ns),) = self.lab.said
        self.assertEqual((name, len(setup_ns)), ("connected", 2))

    async def test_a_lost_connection_ends_the_process_unless_tolerated(self):
        for state, may_lose, expected in (
            ("failed", False, ["connection 0: the peer connection is failed"]),
            ("closed", False, ["connection 0: the peer connection is closed"]),
            ("disconnected", False, []),
            ("closed", True, []),
        ):
            with self.subTest(state, may_lose=may_lose):
                self.lab.said.clear()
                role, pc = Answerer(self.lab, self.setup, self.params), Pc()
                role.watch(0, pc)
                role.may_lose_peer, pc.connectionState = may_lose, state
                try:
                    pc.changed()
                except Ended:
                    pass
                self.assertEqual(self.failures(), expected)

    async def test_signals_are_bounded_and_checked(self):
        role = Answerer(self.lab, self.setup, self.params)
        for body in (signal(2), {}, None):
            with self.assertRaises(Ended):
                role.signal(body)
        for _ in range(peers.MAX_WAITING_SIGNALS):
            role.signal(signal(0))
        with self.assertRaises(Ended):
            role.signal(signal(0))
        self.assertEqual(self.failures()[-1], "signal: QueueFull()")


class Offerer(peers.Offerer):
    async def run(self, connection):
        source = self.sources[connection]
        self.times.begin(connection)
        self.times.step(connection)
        self.times.step(connection)
        await self.verify.wait()
        while source.messages < self.params.verify_messages:
            source.message()
            source.sent()


class Whole(unittest.TestCase):
    """The main loop without a library."""

    def test_from_ready_to_result(self):
        async def events():
            yield Signal("answerer", signal(0))
            yield Start("verify")
            await turns()
            yield Stop()

        lab, setup = Lab(), SimpleNamespace(seed=5, local="198.18.0.1", role="offerer")
        lab.events = events
        with mock.patch("importlib.metadata.version", {"a-library": "1.2"}.__getitem__):
            asyncio.run(peers.serve(lab, setup, "a-library", {"offerer": Offerer}, DataChannel(**PARAMS)))
        said = {words[0]: words[1:] for words in lab.said}
        self.assertEqual(list(said), ["answer_marks", "ready", "connected", "result"])
        self.assertEqual(said["ready"], ("a-library", "1.2"))
        self.assertEqual(said["result"], ({"messages": 6, "bytes": 6 * 64},))
        self.assertEqual(said["answer_marks"][0](), {"messages": 6, "bytes": 6 * 64})

    def test_unsupported_setups(self):
        def refuse(setup):
            return "for the sake of the test" if setup.local == "127.0.0.1" else None

        for changes, kind, reason in (
            ({"workload": "rtt"}, "unsupported", "workload 'rtt', role 'offerer'"),
            ({"params": PARAMS | {"message_bytes": 101}}, "unsupported", "messages of more than 100 bytes"),
            ({"params": PARAMS | {"pairs": 0}}, "failed", "params: pairs is 0, not 1 to 10000"),
            ({"local": "127.0.0.1"}, "unsupported", "for the sake of the test"),
        ):
            with self.subTest(reason):

                def steps(lab, setup):
                    peers.checked(lab, setup, {"offerer": Offerer}, 100, refuse)

                printed, code = converse(encode(SETUP | changes), steps)
                self.assertEqual([(message["type"], message["reason"]) for message in printed], [(kind, reason)])
                self.assertEqual(code, 127 if kind == "unsupported" else 1)
