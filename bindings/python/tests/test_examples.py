"""The README's example, and aiortc's examples with this package on one or both sides."""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

README = pathlib.Path(__file__).parent.parent / "README.md"
#: The folder `examples` of aiortc's source archive.
EXAMPLES = os.environ.get("AIORTC_EXAMPLES")
LIMIT_SECONDS = 60

# Runs an example unchanged except for imports. aioice offers no loopback address, but this machine may have no other.
LAUNCHER = """
import asyncio, sys
import aioice.ice
package, program, *arguments = sys.argv[1:]
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]
asyncio.set_event_loop(asyncio.new_event_loop())
sys.argv = [program, *arguments]
source = open(program, encoding="utf-8").read().replace("from aiortc", f"from {package}")
exec(compile(source, program, "exec"), {"__name__": "__main__"})
"""


class Readme(unittest.TestCase):
    def test_the_readmes_example_works(self):
        source = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        self.assertEqual((done.stdout, done.stderr), ("hello 0\nhello 1\nhello 2\n", ""))


@unittest.skipUnless(EXAMPLES, "needs AIORTC_EXAMPLES, the folder of aiortc's examples")
class AiortcsExamples(unittest.TestCase):
    SIDES = (("netdyno_rtc", "aiortc"), ("aiortc", "netdyno_rtc"), ("netdyno_rtc", "netdyno_rtc"))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def begin(self, package, example, *arguments):
        program = pathlib.Path(EXAMPLES, f"datachannel-{example}", f"{example}.py")
        signaling = ["--signaling", "unix-socket", "--signaling-path", str(self.folder / "signals")]
        command = [sys.executable, "-u", "-c", LAUNCHER, package, str(program), *arguments, *signaling]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def listens(self, process):
        """The offering side listens for signals; the other is started afterwards."""
        until = time.monotonic() + LIMIT_SECONDS
        while not (self.folder / "signals").exists():
            self.assertIsNone(process.poll(), "it has ended")
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_ping_and_pong(self):
        for offers, answers in self.SIDES:
            with self.subTest(f"{offers} offers, {answers} answers"):
                offerer = self.begin(offers, "cli", "offer")
                self.listens(offerer)
                answerer = self.begin(answers, "cli", "answer")
                lines = iter(offerer.stdout.readline, "")
                self.assertTrue(any("RTT" in line for line in lines), "no pong came")
                offerer.send_signal(signal.SIGINT)
                said, _ = answerer.communicate(timeout=LIMIT_SECONDS)
                self.assertIn("created by remote party", said)
                self.assertIn("< ping", said)
                self.assertIn("Exiting", said)

    def test_a_file(self):
        source, target = self.folder / "source", self.folder / "target"
        source.write_bytes(random.Random(7).randbytes(10_000_000))
        for offers, answers in self.SIDES:
            with self.subTest(f"{offers} sends, {answers} receives"):
                sender = self.begin(offers, "filexfer", "send", str(source))
                self.listens(sender)
                receiver = self.begin(answers, "filexfer", "receive", str(target))
                said, _ = receiver.communicate(timeout=LIMIT_SECONDS)
                self.assertIn("received 10000000 bytes", said)
                self.assertTrue(source.read_bytes() == target.read_bytes(), "the file has changed on its way")
                sender.communicate(timeout=LIMIT_SECONDS)
