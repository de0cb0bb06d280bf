import unittest

from netdyno_contender import Digest, Receiver, fill, read_header
from netdyno_contender.payload import MAX_MISSING


class Payload(unittest.TestCase):
    def test_vector(self):
        message, digest = bytearray(80), Digest()
        fill(message, 1, 2, 3)
        digest.add(message)
        self.assertEqual(str(digest), "8eb1afe42c57d17ba06d68c55ccc9b69eb98f1693ceb3e94f624dc95c7ccb2fe")
        self.assertEqual(read_header(message), (2, 3))
        digest.add(message)
        self.assertEqual(str(digest), "0" * 64)

    def test_short_messages_have_no_header(self):
        message = bytearray(3)
        fill(message, 1, 2, 3)
        self.assertEqual(message.hex(), "f930ea")

    def test_length_stays(self):
        for length in (0, 15, 16, 17, 48, 79):
            message = bytearray(length)
            fill(message, 1, 2, 3)
            self.assertEqual(len(message), length)

    def test_header_is_checked(self):
        for message in (b"", bytes(15), bytes(15) + b"\1"):
            with self.assertRaises(ValueError):
                read_header(message)


class CountingRules(unittest.TestCase):
    def test_table(self):
        for name, arrive, gaps, repeats, disorder in (
            ("nothing", [], 0, 0, 0),
            ("in order", [0, 1, 2, 3], 0, 0, 0),
            ("one missing", [0, 2], 1, 0, 0),
            ("first one missing", [3], 3, 0, 0),
            ("one late", [0, 2, 1, 3], 0, 0, 1),
            ("two late, backwards", [3, 2, 1], 1, 0, 2),
            ("a repeat", [0, 1, 1], 0, 1, 0),
            ("repeat of an old message", [0, 1, 2, 0], 0, 1, 0),
            ("late, then repeated", [1, 0, 0], 0, 1, 1),
            ("two gaps, one filled", [1, 3, 2], 1, 0, 1),
            ("maximum number of missing", [MAX_MISSING, MAX_MISSING - 1], MAX_MISSING - 1, 0, 1),
            ("beyond the maximum of missing", [MAX_MISSING + 1, MAX_MISSING], MAX_MISSING + 1, 1, 0),
            ("room again", [MAX_MISSING, 0, MAX_MISSING + 2, MAX_MISSING + 1], MAX_MISSING - 1, 0, 2),
            ("a jump to the end", [2**64 - 2], 2**64 - 2, 0, 0),
        ):
            with self.subTest(name):
                receiver = Receiver()
                for sequence in arrive:
                    receiver.take(sequence)
                self.assertEqual((receiver.gaps, receiver.repeats, receiver.disorder), (gaps, repeats, disorder))
