"""The test vector that all SDKs share, and the counters of both roles."""

import hashlib
import json
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock, patch

from netdyno_contender import Digest, Signal, Start
from netdyno_contender.mjpeg import Clip, Job, Malformed, Picture

VECTOR = json.loads((Path(__file__).parents[2] / "mjpeg.json").read_text())
CLIP = bytes.fromhex(VECTOR["clip"])


def opened(data, give=Clip):
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(data)
        return give(file.name)


def job(role="receiver", fps=0, source="clip"):
    params = {"width": 32, "height": 16, "quality": 40, "fps": fps, "packet_bytes": 1400, "clip_frames": 3}
    params |= {"source": source, "seconds": 1.0}
    of = lambda path: SimpleNamespace(role=role, local="l", peer="p", params=params, inputs={"clip": path})  # noqa: E731
    return opened(CLIP, lambda path: Job(Mock(), of(path)))


class Pictures(unittest.TestCase):
    def test_canonical_forms_match_the_vector(self):
        clip, digest = opened(CLIP), Digest()
        forms = [Picture.parse(jpeg).canonical(jpeg) for jpeg in map(clip.read, range(3))]
        for form in forms:
            digest.add(form)
        self.assertEqual((str(digest), len(clip.frames)), (VECTOR["digest"], VECTOR["messages"]))
        self.assertEqual(sum(map(len, forms)), VECTOR["bytes"])

    def test_pictures_are_matched_with_frames(self):
        clip = opened(CLIP)
        for case in VECTOR["cases"]:
            with self.subTest(case["name"]):
                jpeg = bytes.fromhex(case["jpeg"])
                if case["canonical"] is None:
                    self.assertRaises(Malformed, Picture.parse, jpeg)
                    continue
                picture = Picture.parse(jpeg)
                self.assertEqual(hashlib.sha256(picture.canonical(jpeg)).hexdigest(), case["canonical"])
                for likely in range(3):
                    self.assertEqual(clip.find(picture, jpeg, likely), case["frame"])

    def test_a_truncated_file_is_rejected_or_shorter(self):
        for case in VECTOR["cases"]:
            jpeg = bytes.fromhex(case["jpeg"])
            for end in range(len(jpeg)):
                try:
                    self.assertLessEqual(Picture.parse(jpeg[:end]).scan_end(jpeg[:end]), end)
                except Malformed:
                    pass

    def test_invalid_clips_are_rejected(self):
        for data in (b"", CLIP[:-1], CLIP[1:]):
            self.assertRaises(Malformed, opened, data)


class Receiving(unittest.TestCase):
    def test_verify_counts_each_frame_once(self):
        receiver, clip = job(), opened(CLIP)
        receiver.handle(Start("verify"))
        for frame in (1, 1, 2, 1, 0):
            receiver.lab.verified.assert_not_called()
            receiver.take(clip.read(frame))
        (digest, messages, length), _ = receiver.lab.verified.call_args
        self.assertEqual((str(digest), messages, length), (VECTOR["digest"], VECTOR["messages"], VECTOR["bytes"]))
        receiver.lab.signal.assert_called_with("sender", {"have": 3})
        with patch("netdyno_contender.mjpeg.sys"):
            receiver.take(b"\xff\xd8")
        receiver.lab.failed.assert_called_once()

    def test_missing_frames_are_counted_as_dropped(self):
        clip = opened(CLIP)
        for order, dropped in (((0, 1, 2, 0), 0), ((1, 2), 1), ((0, 2, 1), 2), ((2,), 2)):
            receiver = job()
            for frame in range(3):
                receiver.handle(Start("verify"))
                receiver.take(clip.read(frame))
            receiver.handle(Start("warmup"))
            for frame in order:
                receiver.take(clip.read(frame))
            values = receiver.values()
            self.assertEqual((values["frames"], values["dropped"], values["wrong"]), (len(order), dropped, 0), order)
            with patch("netdyno_contender.mjpeg.sys"):
                receiver.take(b"\xff\xd8")
            self.assertEqual(receiver.values()["wrong"], 1)

    def test_intervals_are_compared_with_the_rate(self):
        clip, receiver = opened(CLIP), job(fps=100)
        receiver.handle(Start("verify"))
        with patch("netdyno_contender.mjpeg.now_ns") as now_ns:
            for frame in range(3):
                receiver.take(clip.read(frame))
            receiver.handle(Start("warmup"))
            receiver._last = (2, 0)
            # Intervals of 10, 14.9 and 16 ms.
            for frame, now_ns.return_value in enumerate((10_000_000, 24_900_000, 40_900_000)):
                receiver.take(clip.read(frame))
        self.assertEqual(receiver.values()["on_time"], 2)


class Sending(unittest.TestCase):
    def test_frames_are_scheduled_by_their_number(self):
        sender, clip = job("sender", fps=100), opened(CLIP)
        sender.handle(Signal("receiver", {"port": 5004}))
        self.assertEqual(sender.await_port(), 5004)
        sent = 0
        for phase, fps, counted in (("verify", 30, 0), ("warmup", 100, 4), ("measure", 100, 8)):
            sender.handle(Start(phase))
            for _ in range(4):
                self.assertEqual(sender.next(), clip.read(sent % 3))
                before = 4 if fps == 100 else 0
                self.assertEqual(sender.due_ns() - sender._first[0], (sent - before) * (10**9 // fps))
                sender.sent(1000)
                sent += 1
            self.assertEqual(sender.values(), {"frames": counted, "bytes": 1000 * counted})

    def test_a_live_sender_sends_the_clip_only_in_verify(self):
        sender = job("sender", source="live")
        sender.handle(Start("verify"))
        self.assertIsNotNone(sender.next())
        sender.handle(Start("warmup"))
        self.assertIsNone(sender.next())


