import unittest
from types import SimpleNamespace

from netdyno_contender import DataChannel, Digest, SetupTimes, Sink, Source, fill, source_values

SETUP = SimpleNamespace(seed=5)
PARAMS = DataChannel(pairs=2, message_bytes=64, ordered=True, verify_messages=2, high_water_bytes=16384)


def filled(stream, sequence):
    message = bytearray(PARAMS.message_bytes)
    fill(message, SETUP.seed, stream, sequence)
    return bytes(message)


class Transfer(unittest.TestCase):
    def test_source_to_sink(self):
        sink = Sink(SETUP, PARAMS)
        sources = [Source(SETUP, PARAMS, connection) for connection in range(PARAMS.pairs)]
        for connection, source in enumerate(sources):
            self.assertFalse(sink.complete.is_set())
            for _ in range(3):
                sink.take(connection, source.message())
                source.sent()
        self.assertTrue(sink.complete.is_set())
        expected = Digest()
        for stream in range(2):
            for sequence in range(2):
                expected.add(filled(stream, sequence))
        digest, messages, length = sink.verified()
        self.assertEqual((str(digest), messages, length), (str(expected), 4, 4 * 64))
        self.assertEqual(source_values(PARAMS, sources), {"messages": 6, "bytes": 6 * 64})
        self.assertEqual(sink.values(), {"messages": 6, "bytes": 6 * 64, "gaps": 0, "repeats": 0, "disorder": 0})

    def test_sink_refuses(self):
        good = filled(1, 0)
        Sink(SETUP, PARAMS).take(1, good)
        for name, connection, message in (
            ("empty", 1, b""),
            ("short", 1, good[:-1]),
            ("long", 1, good + b"\0"),
            ("another body", 1, good[:-1] + bytes([good[-1] ^ 1])),
            ("another stream", 0, good),
        ):
            with self.subTest(name), self.assertRaises(ValueError):
                Sink(SETUP, PARAMS).take(connection, message)


class Times(unittest.TestCase):
    def test_steps(self):
        times = SetupTimes(2, 2)
        for connection in (1, 0):
            times.begin(connection)
        for connection in (0, 1, 1):
            times.step(connection)
        self.assertFalse(times.done.is_set())
        times.step(0)
        self.assertTrue(times.done.is_set())
        self.assertTrue(all(duration > 0 for duration in times.setup_ns))
