"""A coturn on the loopback address, for one test."""

from __future__ import annotations

import datetime
import ipaddress
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

LIMIT_SECONDS = 30
USERNAME, PASSWORD = "name", "password"


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def certified():
    """An authority, and a certificate for 127.0.0.1 that it has issued, with its key; in PEM."""
    now = datetime.datetime.now(datetime.timezone.utc)
    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name, server_name = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)]) for text in ("an authority", "a server"))

    def signed(whose, subject, extension):
        builder = x509.CertificateBuilder(name, subject, whose.public_key(), x509.random_serial_number(), now, now + datetime.timedelta(days=1))
        return builder.add_extension(extension, critical=False).sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    root = signed(authority, name, x509.BasicConstraints(ca=True, path_length=None))
    server = signed(key, server_name, x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]))
    key_format = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return root, server, key.private_bytes(serialization.Encoding.PEM, *key_format)


class Coturn:
    """Ends with the test. Without coturn, the test is skipped, or fails if everything is required."""

    def __init__(self, test: unittest.TestCase):
        self.port, self.tls_port = free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_STREAM)
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        #: The authority of its certificate, in PEM.
        self.authority, certificate, key = certified()
        (place / "certificate").write_bytes(certificate)
        (place / "key").write_bytes(key)
        command = ["turnserver", "-n", "--no-cli", "--no-dtls", "--lt-cred-mech", "--realm=netdyno", "--verbose"]
        command += [f"--cert={place / 'certificate'}", f"--pkey={place / 'key'}", f"--tls-listening-port={self.tls_port}"]
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
        """Wait until its log contains this text; False if it never does."""
        with self._news:
            return self._news.wait_for(lambda: text in self._log, LIMIT_SECONDS)

    def server(self, package, password=PASSWORD):
        """An ICE server for either package."""
        urls = [f"stun:127.0.0.1:{self.port}", f"turn:127.0.0.1:{self.port}?transport=udp"]
        return package.RTCIceServer(urls=urls, username=USERNAME, credential=password)
