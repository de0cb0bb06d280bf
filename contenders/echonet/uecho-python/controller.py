"""Controller: a search, and messages posted one at a time.

The library creates a RemoteNode for each answer before it parses the property. The node has a standard node profile, whose properties are
deep copies, and each copy includes all properties of its class by its `object`. Almost all CPU time is spent there.
"""

import queue

from netdyno_contender.echonet import LIGHTING, Lost, Refused
from uecho import ESV, Controller, Message
from uecho.controller import ControleListener

FIND_S = 10


class Reader(ControleListener):
    """A listener of the library's controller, which is called on the library's thread."""

    def __init__(self, params):
        self._peer = params.peer
        self._found = queue.SimpleQueue()
        self._controller = self._node = None

    def find(self):
        self._controller = Controller()
        self._controller.add_listener(self)
        if not self._controller.start():  # also starts the search
            raise OSError("cannot start the library's controller")
        try:
            self._node = self._found.get(timeout=FIND_S)
        except queue.Empty:
            raise OSError(f"{self._peer} did not answer the search within {FIND_S} s") from None

    def node_add(self, node):
        if node.ip == self._peer and node.has_object(LIGHTING):
            self._found.put(node)

    def node_updated(self, node):
        """Never called by the library, which calls node_add again."""

    def object_updated(self, node, obj):
        """Ignored."""

    def property_updated(self, node, obj, prop):
        """Ignored."""

    def read(self, code, epc):
        message = Message()
        message.DEOJ = code
        message.ESV = ESV.READ_REQUEST
        message.add_property(epc)
        # The library sends first and then waits for a condition. If its thread, which may keep the interpreter lock for 5 ms, has handled
        # the answer by then, the notification is missed, and the answer is returned after the timeout of 2 s.
        answer = self._controller.post_message(message, self._node)
        if answer is None:
            raise Lost
        if answer.ESV != ESV.READ_RESPONSE:
            raise Refused
        return answer.properties[0].data
