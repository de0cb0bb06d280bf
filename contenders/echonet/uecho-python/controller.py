"""Controller: a search, and messages posted one at a time.

The library makes a RemoteNode of each answer before it looks which property that has: a standard node profile, of which each property is
a deep copy that takes, by its `object`, all properties of its class along. That is nearly all of its time.
"""

import queue

from netdyno_contender.echonet import LIGHTING, Lost, Refused
from uecho import ESV, Controller, Message
from uecho.controller import ControleListener

FIND_S = 10


class Reader(ControleListener):
    """Listens to the library's controller, on the library's thread."""

    def __init__(self, params):
        self._peer = params.peer
        self._found = queue.SimpleQueue()
        self._controller = self._node = None

    def find(self):
        self._controller = Controller()
        self._controller.add_listener(self)
        if not self._controller.start():  # it searches, too
            raise OSError("the library's controller does not start")
        try:
            self._node = self._found.get(timeout=FIND_S)
        except queue.Empty:
            raise OSError(f"{self._peer} does not answer the search within {FIND_S} s") from None

    def node_add(self, node):
        if node.ip == self._peer and node.has_object(LIGHTING):
            self._found.put(node)

    def node_updated(self, node):
        """Never called by the library, which calls node_add again."""

    def object_updated(self, node, obj):
        """Of no interest."""

    def property_updated(self, node, obj, prop):
        """Of no interest."""

    def read(self, code, epc):
        message = Message()
        message.DEOJ = code
        message.ESV = ESV.READ_REQUEST
        message.add_property(epc)
        # It sends first and then waits for a condition. If its thread, which has the interpreter's lock for 5 ms before it must share, has
        # taken the answer by then, nobody is woken: the answer is given when the wait of 2 s has run out.
        answer = self._controller.post_message(message, self._node)
        if answer is None:
            raise Lost
        if answer.ESV != ESV.READ_RESPONSE:
            raise Refused
        return answer.properties[0].data
