import asyncio
import base64
import struct
import unittest
from types import SimpleNamespace

from netdyno_contender import Digest
from netdyno_contender.histogram import MAX_NS, Histogram
from netdyno_contender.rtt import HELLO, Counters, Lane, Rtt, Tasks, due_ns, port_of, wait_ns, work

PARAMS = {
    "transport": "udp", "message_bytes": 64, "rate": 1000, "outstanding": 4, "tasks": 0, "pacing": "spin",
    "echo_delay_ns": 0, "timeout_ms": 200, "seconds": 0.5, "verify_messages": 2,
}  # fmt: skip
FOREVER_NS = 10**18


def rtt(**changes):
    return Rtt.from_setup(SimpleNamespace(params=PARAMS | changes))


class Histograms(unittest.TestCase):
    def test_same_as_the_reference(self):
        """The encoding of HdrHistogram for Java of the same values."""
        histogram = Histogram()
        for value in (0, 1, 1, 1000, 2047, 2048, 2049, 4095, 4096, 10**6, 12345678, MAX_NS):
            histogram.record(value)
        self.assertEqual(
            histogram.encode(),
            "HISTEwAAABcAAAAAAAAAAwAAAAAAAAABAAAADfhHWAA/8AAAAAAAAAIEyw8CqxACBPsPAgK/fgKBOQKvxAEC",
        )

    def test_greater_values_count_as_the_maximum(self):
        greatest, greater = Histogram(), Histogram()
        greatest.record(MAX_NS)
        greater.record(MAX_NS * 100)
        self.assertEqual(greatest.encode(), greater.encode())

    def test_many(self):
        histogram = Histogram()
        for _ in range(300):
            histogram.record(5)
        self.assertIn(b"\xd8\x04", base64.b64decode(histogram.encode()))  # 600, zigzag, LEB128


class Parameters(unittest.TestCase):
    def test_good(self):
        self.assertEqual(rtt(), Rtt(**PARAMS))
        self.assertEqual(rtt(seconds=2, later=1).seconds, 2)

    def test_out_of_range(self):
        for name, value in (
            ("transport", "sctp"), ("pacing", None), ("message_bytes", 15), ("message_bytes", 60_001),
            ("message_bytes", 64.0), ("message_bytes", True), ("rate", -1), ("outstanding", 0), ("outstanding", 1001),
            ("tasks", 10_001), ("timeout_ms", 0), ("seconds", "1"), ("verify_messages", 0), ("transport", []),
        ):  # fmt: skip
            with self.subTest(name, value=value), self.assertRaises(ValueError):
                rtt(**{name: value})

    def test_port(self):
        self.assertEqual(port_of({"port": 5, "later": 1}), 5)
        for body in ({"port": 0}, {"port": 65_536}, {"port": "5"}, {"port": True}, {}, [], None):
            with self.subTest(body=body), self.assertRaises(ValueError):
                port_of(body)


class Parts(unittest.TestCase):
    def test_due(self):
        self.assertEqual([due_ns(100, 3, n) for n in range(4)], [100, 333333433, 666666766, 1000000100])

    def test_work(self):
        self.assertEqual(work(1), 147405559)

    def test_tasks(self):
        async def run():
            tasks = Tasks(rtt(tasks=3))
            tasks.begin()
            while tasks.runs < 9:
                await asyncio.sleep(0.001)

        asyncio.run(run())

    def test_wait(self):
        wait_ns(0)
        wait_ns(1000)

    def test_window(self):
        counters = Counters(rtt())
        expected = Counters(rtt())
        expected._latency.record(100)
        expected._latency.record(MAX_NS)
        counters.echo(0, 0, 1)
        counters.measure(1000)
        for due, sent, at in (
            (900, 950, 999), (900, 950, 1000), (400_000_000 - MAX_NS * 2, 0, 400_000_000), (0, 0, 500_001_000),
        ):  # fmt: skip
            counters.echo(due, sent, at)
        self.assertEqual(counters.histograms()["latency"], expected.histograms()["latency"])
        self.assertEqual(list(counters.histograms()), ["latency", "service", "lateness"])
        self.assertEqual(list(Counters(rtt(rate=0)).histograms()), ["latency"])
        self.assertEqual(counters.values(7)["messages"], 5)


class Lanes(unittest.TestCase):
    def setUp(self):
        self.counters = Counters(rtt())
        self.lane = Lane(rtt(), self.counters, 3)
        digest = Digest()
        for _ in range(2):
            echo = bytes(self.lane.verify(1))
            self.lane.sent()
            self.assertTrue(self.lane.take(echo, 0))
            self.lane.verified(echo, digest)
        with self.assertRaises(ValueError):
            self.lane.verified(bytes(64), digest)

    def test_hello(self):
        self.assertEqual(self.lane.hello(), struct.pack(">QQ", HELLO, 0) + bytes(48))

    def test_echoes(self):
        self.assertEqual(self.lane.number, 3)
        self.lane.prepare()
        self.assertEqual(self.lane.number, 3)
        request = bytes(self.lane.request(5))
        self.assertEqual(self.counters.requests, 2)
        self.lane.sent()
        self.assertEqual(self.lane.number, 7)
        self.assertEqual(struct.unpack_from(">QII", request), (2, 3, 0))
        for name, echo, taken, late, strange in (
            ("earlier request", struct.pack(">QII", 1, 3, 0) + request[16:], False, 1, 0),
            ("future request", struct.pack(">QII", 3, 3, 0) + request[16:], False, 1, 1),
            ("a hello", self.lane.hello(), False, 1, 2),
            ("another lane", struct.pack(">QII", 2, 2, 0) + request[16:], False, 1, 3),
            ("nonzero field", struct.pack(">QII", 2, 3, 1) + request[16:], False, 1, 4),
            ("too short", request[:-1], False, 1, 5),
            ("too long", request + b"x", False, 1, 6),
            ("awaited echo", request, True, 1, 6),
            ("again", request, False, 2, 6),
        ):
            with self.subTest(name):
                self.assertEqual(self.lane.take(echo, 10), taken)
                self.assertEqual((self.counters.late, self.counters.strange), (late, strange))
        values = {"requests": 3, "messages": 3, "bytes": 192, "lost": 0, "late": 2, "strange": 6, "task_runs": 9}
        self.assertEqual(self.counters.values(9), values)

    def test_lost(self):
        self.assertFalse(self.lane.expire(FOREVER_NS))
        self.lane.prepare()
        request = bytes(self.lane.request())
        self.assertFalse(self.lane.expire(0))
        self.assertTrue(self.lane.expire(FOREVER_NS))
        self.assertFalse(self.lane.expire(FOREVER_NS))
        self.assertFalse(self.lane.take(request, 10))
        self.assertEqual((self.counters.lost, self.counters.late, self.counters.messages), (1, 1, 2))
