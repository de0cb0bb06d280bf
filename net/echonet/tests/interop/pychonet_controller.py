"""The controller of pychonet, as Home Assistant's integration uses it: finds a device, reads and switches it."""

import asyncio
import sys

from pychonet import ECHONETAPIClient
from pychonet.lib.const import GET, SETC
from pychonet.lib.udpserver import UDPServer


async def main(own, peer):
    server = UDPServer(local_ip=own)
    server.run("0.0.0.0", 3610, loop=asyncio.get_event_loop())
    client = ECHONETAPIClient(server)
    await client.discover(peer)
    for _ in range(100):
        if "discovered" in client._state.get(peer, {}):
            break
        await asyncio.sleep(0.05)
    instances = client._state[peer]["instances"]
    print("found", *(f"{group} {kind} {number}" for group in instances for kind in instances[group] for number in instances[group][kind]))
    await client.getAllPropertyMaps(peer, 0x02, 0x91, 0x01)
    light = client._state[peer]["instances"][0x02][0x91][0x01]
    print("get map", light[0x9F])
    for value in (None, 0x31):
        if value is not None:
            await client.echonetMessage(peer, 0x02, 0x91, 0x01, SETC, [{"EPC": 0x80, "PDC": 1, "EDT": value}])
        await client.echonetMessage(peer, 0x02, 0x91, 0x01, GET, [{"EPC": 0x80}])
        light = client._state[peer]["instances"][0x02][0x91][0x01]
        print("read", light[0x80].hex())


asyncio.run(main(*sys.argv[1:]))
