import asyncio
import json
import os
import threading
import unittest

from netdyno_contender import DataChannel, Lab, Mark, Signal, Start, Stop, connect, now_ns
from netdyno_contender.lab import MAX_LINE_BYTES

PARAMS = {"pairs": 2, "message_bytes": 64, "ordered": False, "verify_messages": 3, "high_water_bytes": 16384}
SETUP = {
    "type": "setup", "protocol": 1, "workload": "datachannel", "role": "offerer", "seed": 2**53 - 1,
    "local": "198.18.0.1", "peer": "198.18.0.2", "params": PARAMS | {"seconds": 3.0}, "capture": False, "later": {},
}  # fmt: skip


class Left(Exception):
    """Replaces the end of the process."""


def leave(code):
    raise Left(code)


def converse(lines, steps):
    """Run steps with these bytes from the lab. Returns the printed messages and the exit code, or None without an exit."""
    stdin, lab_out = os.pipe()
    lab_in, stdout = os.pipe()

    def feed():
        with open(lab_out, "wb") as lab:
            lab.write(lines)

    feeder = threading.Thread(target=feed)
    feeder.start()
    code = None
    try:
        steps(*connect(Lab(stdin, stdout, leave)))
    except Left as left:
        code = left.args[0]
    while os.read(stdin, 1 << 20):
        pass
    feeder.join()
    os.close(stdin)
    os.close(stdout)
    with open(lab_in, "rb") as printed:
        return [json.loads(line) for line in printed], code


def encode(*messages):
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


class Conversation(unittest.TestCase):
    def test_whole(self):
        body = {"connection": 1, "type": "answer", "sdp": "v=0"}
        lines = encode(
            SETUP,
            {"type": "signal", "from": "answerer", "body": body},
            {"type": "start", "phase": "verify"},
            {"type": "mark", "id": 7},
            {"type": "stop"},
        )

        def steps(lab, setup):
            self.assertEqual((setup.role, setup.seed, setup.peer), ("offerer", 2**53 - 1, "198.18.0.2"))
            params = DataChannel.from_setup(setup)
            self.assertEqual(params, DataChannel(**PARAMS))
            lab.ready("n", "1")
            signal = lab.next()
            self.assertEqual(signal, Signal("answerer", body))
            self.assertEqual(params.connection(signal.body), 1)
            self.assertEqual(lab.next(), Start("verify"))
            lab.connected([1, 2])
            lab.counters(lab.next(), {"messages": 5})
            self.assertEqual(lab.next(), Stop())
            lab.result({"messages": 6})

        printed, code = converse(lines, steps)
        self.assertIsNone(code)
        self.assertEqual([message["type"] for message in printed], ["ready", "connected", "counters", "result"])
        self.assertEqual((printed[2]["id"], printed[2]["values"]), (7, {"messages": 5}))
        self.assertEqual(printed[3]["histograms"], {})

    def test_marks_do_not_wait_for_the_loop(self):
        lines = encode(SETUP, {"type": "mark", "id": 1}, {"type": "start", "phase": "verify"}, {"type": "stop"})

        def steps(lab, _):
            lab.answer_marks(lambda: {"messages": 5})

            async def events():
                return [event async for event in lab.events()]

            self.assertEqual(asyncio.run(events()), [Start("verify"), Stop()])

        printed, code = converse(lines, steps)
        self.assertIsNone(code)
        self.assertEqual([(m["type"], m["id"], m["values"]) for m in printed], [("counters", 1, {"messages": 5})])

    def test_forbidden(self):
        verify = encode({"type": "start", "phase": "verify"})
        for name, lines, kinds, expected in (
            ("closed at once", b"", [], 1),
            ("closed later", encode(SETUP), [], 1),
            ("not JSON", b"hello\n", ["failed"], 1),
            ("not an object", b"[]\n", ["failed"], 1),
            ("too long", b" " * (MAX_LINE_BYTES + 70_000) + b"\n", ["failed"], 1),
            ("no setup", encode({"type": "stop"}), ["failed"], 1),
            ("seed of the wrong type", encode(SETUP | {"seed": "x"}), ["failed"], 1),
            ("another protocol", encode(SETUP | {"protocol": 2}), ["unsupported"], 127),
            ("unknown type", encode(SETUP, {"type": "dance"}), ["failed"], 1),
            ("no type", encode(SETUP, {}), ["failed"], 1),
            ("unknown phase", encode(SETUP, {"type": "start", "phase": "rest"}), ["failed"], 1),
            ("repeated phase", encode(SETUP) + verify + verify, ["failed"], 1),
            ("later line is not JSON", encode(SETUP) + b"{\n", ["failed"], 1),
        ):
            with self.subTest(name):

                def steps(lab, _):
                    while True:
                        lab.next()

                printed, code = converse(lines, steps)
                self.assertEqual(([message["type"] for message in printed], code), (kinds, expected))

    def test_mark_is_an_event_unless_answered(self):
        converse(encode(SETUP, {"type": "mark", "id": 3}), lambda lab, _: self.assertEqual(lab.next(), Mark(3)))

    def test_parameters_out_of_range(self):
        def steps(lab, setup):
            for name, value in (
                ("pairs", 0), ("pairs", 10_001), ("pairs", None), ("pairs", 1.5), ("pairs", True),
                ("message_bytes", 15), ("verify_messages", 0), ("high_water_bytes", 0), ("ordered", 1),
            ):  # fmt: skip
                with self.subTest(name, value=value), self.assertRaises(ValueError):
                    setup.params.update(PARAMS | {name: value})
                    DataChannel.from_setup(setup)
            for body in ({"connection": -1}, {"connection": 2}, {"connection": "0"}, {}, [], None):
                with self.subTest(body=body), self.assertRaises(ValueError):
                    DataChannel(**PARAMS).connection(body)

        self.assertEqual(converse(encode(SETUP), steps), ([], None))

    def test_clock_runs(self):
        before = now_ns()
        self.assertGreater(before, 0)
        self.assertGreaterEqual(now_ns(), before)
