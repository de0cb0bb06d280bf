import asyncio
import threading
import time
import unittest
from types import SimpleNamespace
from unittest.mock import patch

from netdyno_contender import Mark, Signal, Start, Stop
from netdyno_contender.echonet import (
    LIGHTING, NODE_PROFILE, READS, Counters, Echonet, Lost, Refused, check, identification, map_codes, payload,
    Outstanding, serve_controller, serve_controller_async, serve_device, serve_runner,
)  # fmt: skip
from netdyno_contender.histogram import Histogram

PAYLOAD = "54301a433524372b04845c1cdd"  # for seed 1
PARAMS = {"outstanding": 1, "timeout_ms": 2000, "seconds": 1.6, "warmup_seconds": 0.5}
VALUES = {
    0x80: "30", 0x82: "010d0100", 0x83: f"fe00000b{PAYLOAD}", 0x8A: "00000b", 0x9D: "0180", 0x9E: "00",
    0x9F: "0b8082838a9d9e9fd3d4d6d7", 0xD3: "000001", 0xD4: "0002", 0xD6: "01029101", 0xD7: "010291",
}  # fmt: skip


def setUpModule():
    silent = patch("netdyno_contender.echonet.sys")  # wrong values are reported on stderr
    silent.start()
    unittest.addModuleCleanup(silent.stop)


def setup(**params):
    return SimpleNamespace(seed=1, local="198.18.0.1", peer="198.18.0.2", params=PARAMS | params)


class Lab:
    """A fake lab that sends the given lines and stores the received ones."""

    def __init__(self, *to_send):
        self._to_send, self.said, self.marks = list(to_send), {}, None

    def __getattr__(self, name):
        return lambda *args: self.said.setdefault(name, args)

    def answer_marks(self, read_values):
        self.marks = read_values

    def next(self):
        event = self._to_send.pop(0)
        if callable(event):
            event()
            event = self._to_send.pop(0)
        if event == Start("warmup"):
            while "verified" not in self.said:
                time.sleep(0.001)
        return event

    async def events(self):
        while self._to_send:
            event = self._to_send.pop(0)
            if callable(event):
                while not event():
                    await asyncio.sleep(0.001)
            else:
                yield event


class Reads(unittest.TestCase):
    def test_payload(self):
        self.assertEqual(payload(1).hex(), PAYLOAD)
        self.assertEqual(identification(1).hex(), f"fe00000b{PAYLOAD}")

    def test_checks(self):
        for epc, value, good in (
            (0x80, "30", True), (0x80, "31", False), (0x80, "", False), (0x82, "010d0100", True), (0x82, "010d01", False),
            (0x83, f"fe123456{PAYLOAD}", True), (0x83, f"ff00000b{PAYLOAD}", False), (0x83, PAYLOAD, False), (0x83, "", False),
            (0x8A, "000077", True), (0x8A, "0077", False), (0x9D, "0280d5", True), (0x9D, "00", True), (0x9D, "", False),
            (0x9D, "0380d5", False), (0x9D, "027fd5", False), (0x9E, "10" + "00" * 16, True), (0x9E, "10" + "00" * 15, False),
            (0x9F, VALUES[0x9F], True), (0x9F, "078082838a9d9e9f", True), (0x9F, "068082838a9d9e", False),
            (0x9F, "1001000101000000000000010000020202", True), (0x9F, "100101012120202020010101000002020a", True),
            (0x9F, "1001000101000000000000010000020200", False), (0x9F, "0701000101000000000000010000020202", False),
            (0xD3, "000001", True), (0xD3, "01", False), (0xD4, "0001", False), (0xD6, "01029102", False),
            (0xD7, "010291", True), (0xD7, "0202910ef0", True), (0xD7, "020ef00291", True), (0xD7, "020291", False),
        ):  # fmt: skip
            with self.subTest(epc=hex(epc), value=value):
                try:
                    check((NODE_PROFILE, epc), bytes.fromhex(value), 1)
                    self.assertTrue(good)
                except ValueError as error:
                    self.assertFalse(good, error)

    def test_bitmap(self):
        self.assertEqual(map_codes(bytes.fromhex("10" + "01" + "00" * 14 + "80")), {0x80, 0xFF})
        self.assertEqual(len(map_codes(bytes.fromhex("40a595d5a7c4c4c5869795a7e471339392"))), 64)  # a published example

    def test_parameters(self):
        self.assertEqual(Echonet.from_setup(setup(later=1)), Echonet("198.18.0.1", "198.18.0.2", 1, 2000, 1.6))
        for name, value in (
            ("outstanding", 0), ("outstanding", 129), ("outstanding", True), ("timeout_ms", 99), ("timeout_ms", "1"),
            ("seconds", 0.1), ("seconds", None),
        ):  # fmt: skip
            with self.subTest(name, value=value), self.assertRaises(ValueError):
                Echonet.from_setup(setup(**{name: value}))
        with self.assertRaises(ValueError):
            Echonet.from_setup(SimpleNamespace(**vars(setup()) | {"peer": "x"}))


class ControllerCounters(unittest.TestCase):
    def test_window(self):
        counters, expected = Counters(Echonet.from_setup(setup(seconds=0.5)), 1), Histogram()
        expected.record(100)
        expected.record(200)
        counters.record(0, b"", 0, 1)
        counters.measure(1000)
        for sent, at in ((900, 999), (900, 1000), (500_000_799, 500_000_999), (0, 500_001_000)):
            counters.record(0, b"", sent, at)
        self.assertEqual(counters.histograms(), {"latency": expected.encode()})

    def test_wrong(self):
        counters = Counters(Echonet.from_setup(setup()), 1)
        for index, (_, epc) in enumerate(READS):
            counters.verify(index, bytearray.fromhex(VALUES[epc]))
        for number, value in ((0, b"\x30"), (12, bytearray(b"\x30")), (2, b"\x30"), (3, None)):
            counters.record(number, value, 0, 1)
        counters.record_lost()
        counters.record_late()
        self.assertEqual(counters.values(), {"reads": 4, "bytes": 3, "wrong": 2, "lost": 1, "late": 1})
        with self.assertRaises(ValueError):
            counters.verify(0, b"\x31")

    def test_order_of_maps_is_ignored(self):
        counters = Counters(Echonet.from_setup(setup()), 1)
        counters.verify(4, b"\x02\x80\x81")
        for value, wrong in ((b"\x02\x81\x80", 0), (b"\x02\x82\x80", 1), (b"\x01\x80", 2), (None, 3)):
            counters.record(4, value, 0, 1)
            self.assertEqual(counters.wrong, wrong)


class OutstandingReads(unittest.TestCase):
    def setUp(self):
        self.params = Echonet.from_setup(setup(outstanding=3, timeout_ms=1000))
        self.counters, self.lab = Counters(self.params, 1), Lab()
        self.reads = Outstanding(self.counters, self.params, self.lab)
        self.reads.verify.set()
        self.reads.warmup.set()

    def verify(self):
        for code, epc in READS:
            tid, *read = self.reads.next()
            self.assertEqual(read, [code, epc])
            self.assertIsNone(self.reads.next())
            self.reads.sent(tid, 0)
            self.reads.answered(tid, bytes.fromhex(VALUES[epc]), 1)

    def test_loop(self):
        self.verify()
        self.assertEqual(self.lab.said["verified"][1:], (1, 13))
        sent = []
        while read := self.reads.next():
            sent.append(read)
            self.reads.sent(read[0], len(sent))
        self.assertEqual([read[1:] for read in sent], list(READS[:3]))
        tids = [read[0] for read in sent]
        self.assertEqual(len({tid % 128 for tid in tids}), 3)
        self.reads.answered(tids[1], bytes.fromhex(VALUES[0x82]), 5)
        self.reads.answered(tids[1], b"", 5)
        self.assertEqual((self.reads.find(tids[1]), self.reads.find(tids[2])), (None, READS[2]))
        tid, *read = self.reads.next()
        self.assertEqual((tid % 128, tid // 128, tuple(read)), (tids[1] % 128, tids[1] // 128 + 1, READS[3]))
        self.reads.sent(tid, 500)
        self.reads.expire(1_000_000_001)  # the first read has just timed out
        self.reads.expire(1_000_000_002)
        self.reads.answered(tids[2], None, 7)
        self.assertEqual(self.counters.values(), {"reads": 2, "bytes": 4, "wrong": 1, "lost": 1, "late": 1})

    def test_numbers_wrap_around(self):
        self.verify()
        tids = set()
        for _ in range(511):
            tid, *_ = self.reads.next()
            self.reads.answered(tid, None, 0)
            tids.add(tid)
        self.assertEqual((len(tids), self.reads.next()[0] in tids, 0 in tids), (511, True, False))

    def test_verify_tolerates_no_error(self):
        tid, *_ = self.reads.next()
        with self.assertRaises(Lost):
            self.reads.expire(10**10)
        with self.assertRaises(ValueError):
            self.reads.answered(tid, None, 1)


class Library:
    """A library with fixed values. After the reads of verify, it returns other kinds of answers, then blocks."""

    def __init__(self):
        self.reads, self.odd, self.done = 0, [Lost(), Refused(), b"\x31"], threading.Event()

    def find(self):
        self.found = True

    def read(self, _, epc):
        self.reads += 1
        if self.reads <= 24:
            return bytes.fromhex(VALUES[epc])
        if self.odd:
            answer = self.odd.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        self.done.set()
        threading.Event().wait()


class AsyncLibrary(Library):
    async def find(self):
        super().find()

    async def read(self, *read):
        if self.reads >= 24 and not self.odd:
            self.done.set()
            await asyncio.Event().wait()
        return super().read(*read)


class Roles(unittest.TestCase):
    COUNTED = {"reads": 14, "bytes": 54, "wrong": 2, "lost": 1, "late": 0}

    def converse(self, library, until, serve):
        phases = [Signal("device", {"ready": True}), Start("verify"), Start("warmup"), Start("measure"), until, Stop()]
        lab = Lab(*phases)
        serve(lab, setup(), Echonet.from_setup(setup()), library)
        self.assertTrue(library.found)
        self.assertEqual(len(lab.said["connected"][0]), 1)
        self.assertEqual(lab.said["verified"][1:], (1, 13))
        self.assertEqual(lab.said["result"][0], self.COUNTED)
        self.assertEqual(lab.marks(), self.COUNTED)
        self.assertNotIn("failed", lab.said)

    def test_controller(self):
        library = Library()
        self.converse(library, library.done.wait, serve_controller)

    def test_controller_async(self):
        library = AsyncLibrary()
        self.converse(library, library.done.is_set, lambda *args: asyncio.run(serve_controller_async(*args)))

    def test_runner(self):
        library = Library()

        def run(reads):
            while True:
                tid, code, epc = reads.next()
                reads.sent(tid, 0)
                try:
                    reads.answered(tid, library.read(code, epc), 1)
                except Refused:
                    reads.answered(tid, None, 1)
                except Lost:
                    reads.expire(10**10)

        library.run = run
        self.converse(library, library.done.wait, serve_runner)

    def test_a_wrong_value_fails(self):
        library = Library()
        library.read = lambda *_: b"\x30"
        lab = Lab(Signal("device", {}), Start("verify"), Stop())
        serve_controller(lab, setup(), Echonet.from_setup(setup()), library)
        self.assertIn("property 82", lab.said["failed"][0])

    def test_device(self):
        lab = Lab(Start("verify"), Stop())
        serve_device(lab)
        self.assertEqual(lab.said, {"signal": ("controller", {"ready": True}), "connected": ([],), "result": ({},)})
        self.assertEqual((LIGHTING, lab.marks(), Mark(1).id), (0x029101, {}, 1))
