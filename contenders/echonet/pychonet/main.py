"""pychonet as a contender of the echonet workload: the controller, set up as in its documentation."""

import asyncio
import importlib.metadata

from netdyno_contender.echonet import LIGHTING, Lost, Refused, begin, serve_controller_async
from pychonet import ECHONETAPIClient
from pychonet.lib.const import GET, GET_SNA, GETRES
from pychonet.lib.functions import decodeEchonetMsg
from pychonet.lib.udpserver import UDPServer

PORT = 3610
TICKS_PER_S = 10  # of the library's timeout
FIND_S = 10


def codes(code):
    """An object's group, class and instance."""
    return tuple(code.to_bytes(3, "big"))


class Reader:
    """The library's client. After sending, it sleeps for 100 ms at a time until the answer has arrived."""

    def __init__(self, params):
        self._params, self._peer = params, params.peer
        self._discovered = asyncio.Event()
        self._client = self._answer = None
        self._has_maps = False

    async def find(self):
        server = UDPServer()
        server.run("0.0.0.0", PORT, asyncio.get_running_loop())
        self._client = ECHONETAPIClient(server)
        # The library passes an answer of an unknown node to the callback, which queries the node.
        self._client.configure(
            message_timeout=round(self._params.timeout_s * TICKS_PER_S), logger=lambda _: None, discover_callback=self._on_unknown
        )
        search = asyncio.create_task(self._client.discover())
        try:
            await asyncio.wait_for(self._discovered.wait(), FIND_S)
        except TimeoutError:
            raise OSError(f"{self._peer} did not answer the search within {FIND_S} s") from None
        await self._client.discover(self._peer)
        group, kind, instance = codes(LIGHTING)
        if instance not in self._client.state[self._peer]["instances"].get(group, {}).get(kind, {}):
            raise OSError(f"{self._peer} has no {LIGHTING:06X}")
        search.cancel()
        server.subscribe(self._on_datagram)

    async def _on_unknown(self, host):
        if host == self._peer:
            self._discovered.set()

    async def _on_datagram(self, data, _):
        message = decodeEchonetMsg(data)
        if message["ESV"] in (GETRES, GET_SNA):
            self._answer = message

    async def read(self, code, epc):
        if code == LIGHTING and not self._has_maps:  # the library only reads properties of a device that its maps contain
            self._has_maps = await self._client.getAllPropertyMaps(self._peer, *codes(code))
        self._answer = None
        await self._client.echonetMessage(self._peer, *codes(code), GET, [{"EPC": epc}])
        if self._answer is None:
            raise Lost
        if self._answer["ESV"] != GETRES:
            raise Refused
        return self._answer["OPC"][0]["EDT"]


async def serve(lab, setup, params):
    await serve_controller_async(lab, setup, params, Reader(params))


def main():
    lab, setup, params = begin(roles=("controller",))
    lab.ready("pychonet", importlib.metadata.version("pychonet"))
    asyncio.run(serve(lab, setup, params))


if __name__ == "__main__":
    main()
