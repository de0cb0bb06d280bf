"""The mjpeg workload with only the standard library: sockets, struct and an RFC 2435 implementation (rtp.py). All packets of a frame are sent
at once when the frame is due."""

import platform
import socket

from jpeg import Unfit
from netdyno_contender import now_ns
from netdyno_contender.mjpeg import begin
from rtp import Depacketizer, Packetizer

CLOCK_RATE = 90_000
FLAT_OUT_FPS = 30  # the rate of timestamps if fps = 0
MAX_DATAGRAM_BYTES = 65536
RECEIVE_BUFFER_BYTES = 1 << 20  # the default socket buffer is smaller than a frame
PORTS_TRIED = 1000


def send(job):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind((job.local, 0))
    link.connect((job.peer, job.await_port()))
    packetizer = Packetizer(job.packet_bytes, CLOCK_RATE // (job.fps or FLAT_OUT_FPS))
    job.connected()
    while True:
        file = job.next()
        job.await_due()
        for packet in packetizer.packets(file):
            try:
                link.sendmsg(packet)
            except ConnectionRefusedError:
                pass  # a receiver that has ended is not an error
        job.sent(len(file))


def receive(job):
    created_ns = now_ns()
    link = bind_even(job.local)
    job.bound(link.getsockname()[1], created_ns)
    depacketizer = Depacketizer()
    buffer = bytearray(MAX_DATAGRAM_BYTES)
    view = memoryview(buffer)
    while True:
        packet = view[: link.recv_into(buffer)]
        try:
            file = depacketizer.take(packet)
        except Unfit:
            continue
        if file is not None:
            job.take(file)


def bind_even(local):
    """Bind a socket to an even port, as RTP requires."""
    for _ in range(PORTS_TRIED):
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.bind((local, 0))
        if link.getsockname()[1] % 2 == 0:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            return link
        link.close()
    raise OSError(f"no free even UDP port in {PORTS_TRIED} attempts")


def main():
    job = begin()
    job.ready("plain sockets", platform.python_version())
    try:
        (send if job.is_sender else receive)(job)
    except (OSError, Unfit) as error:
        job.lab.failed(repr(error))


if __name__ == "__main__":
    main()
