"""A controller: discovery, and the closed loop."""

from time import monotonic_ns

import frame as f
from device import LIGHTING, NODE_PROFILE
from link import GROUP, PORT, open_link
from netdyno_contender.echonet import TICK_S

ITSELF = bytes((0x05, 0xFF, 0x01))
SEARCH_NS = 10**9


class Controller:
    def __init__(self, params):
        self._params = params
        self._link, self._request, self._answer = None, f.Writer(), f.Frame()
        self._buffer = memoryview(bytearray(f.DATAGRAM_BYTES_MAX))

    def _get(self, tid, deoj, epc):
        self._request.begin(tid, ITSELF, deoj, f.GET)
        self._request.put(epc)
        return self._request.datagram()

    def _receive(self):
        """Receive a frame of peer. Returns False for another datagram, None on a timeout."""
        try:
            length, (address, _) = self._link.recvfrom_into(self._buffer)
        except BlockingIOError:
            return None
        return address == self._params.peer and self._answer.parse(self._buffer[:length]) and self._answer

    def find(self):
        """Request the instance lists of the group every second."""
        self._link = open_link(self._params.local, TICK_S)
        asked_ns = -SEARCH_NS
        while True:
            if monotonic_ns() - asked_ns >= SEARCH_NS:
                self._link.sendto(self._get(1, NODE_PROFILE, 0xD6), GROUP)
                asked_ns = monotonic_ns()
            answer = self._receive()
            if answer and lists_lighting(answer):
                return

    def run(self, reads):
        """The closed loop."""
        peer = (self._params.peer, PORT)
        while True:
            while read := reads.next():
                tid, code, epc = read
                request = self._get(tid, eoj_of(code), epc)
                reads.sent(tid, monotonic_ns())
                self._link.sendto(request, peer)
            answer = self._receive()
            at_ns = monotonic_ns()
            if answer is None:
                reads.expire(at_ns)
            elif answer:
                take(reads, answer, at_ns)


def take(reads, answer, at_ns):
    """Handle an answer to an outstanding or lost read."""
    if answer.esv != f.GET_RES and answer.esv != f.GET_SNA:
        return
    epc, value = answer.properties[0]
    asked = reads.find(answer.tid)
    if asked is None or (eoj_of(asked[0]) == answer.seoj and asked[1] == epc):
        reads.answered(answer.tid, value if answer.esv == f.GET_RES else None, at_ns)


def lists_lighting(answer):
    """Whether a frame contains an instance list with the lighting."""
    if answer.esv not in (f.GET_RES, f.INF) or answer.seoj != NODE_PROFILE:
        return False
    lists = [bytes(edt) for epc, edt in answer.properties if epc in (0xD5, 0xD6)]
    return any(LIGHTING == edt[at : at + 3] for edt in lists for at in range(1, len(edt), 3))


def eoj_of(code):
    return code.to_bytes(3, "big")
