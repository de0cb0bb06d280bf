"""A coturn on the loopback address, for one test."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

LIMIT_SECONDS = 30
USERNAME, PASSWORD = "name", "password"


class Coturn:
    """Ends with the test; the test is skipped where there is none, or fails if all is required."""

    def __init__(self, test: unittest.TestCase):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        command = ["turnserver", "-n", "--no-cli", "--no-tls", "--no-dtls", "--lt-cred-mech", "--realm=netdyno", "--verbose"]
        command += [f"--user={USERNAME}:{PASSWORD}", "-L", "127.0.0.1", "--relay-ip=127.0.0.1", "--allow-loopback-peers"]
        command += ["--log-file=stdout", "--simple-log", f"--pidfile={place / 'pid'}", f"--db={place / 'db'}"]
        try:
            process = subprocess.Popen([*command, f"--listening-port={self.port}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except FileNotFoundError:
            why = "needs turnserver (Debian and Ubuntu: apt-get install coturn)"
            if os.environ.get("NETDYNO_REQUIRE") == "all":
                test.fail(why)
            raise unittest.SkipTest(why) from None
        test.addCleanup(process.stdout.close)
        test.addCleanup(process.wait)
        test.addCleanup(process.kill)
        self._log, self._news = "", threading.Condition()
        reader = threading.Thread(target=self._read, args=(process.stdout,))
        reader.start()
        test.addCleanup(reader.join)
        test.addCleanup(process.kill)
        test.assertTrue(self.logs("Total General servers"), "it did not start")

    def _read(self, lines):
        for line in lines:
            with self._news:
                self._log += line
                self._news.notify_all()

    def logs(self, text):
        """Waits until its log has this; False if it never has."""
        with self._news:
            return self._news.wait_for(lambda: text in self._log, LIMIT_SECONDS)

    def server(self, package, password=PASSWORD):
        """As either package names it."""
        urls = [f"stun:127.0.0.1:{self.port}", f"turn:127.0.0.1:{self.port}?transport=udp"]
        return package.RTCIceServer(urls=urls, username=USERNAME, credential=password)
