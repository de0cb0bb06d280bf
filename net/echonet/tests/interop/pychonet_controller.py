"""The controller of pychonet, as Home Assistant's integration uses it: finds a light, reads all of its properties and changes it."""

import asyncio
import sys

from pychonet import ECHONETAPIClient, Factory
from pychonet.lib.const import GET, SETC
from pychonet.lib.udpserver import UDPServer

LIGHT = (0x02, 0x91, 0x01)


async def main(own, peer):
    server = UDPServer(local_ip=own)
    server.run("0.0.0.0", 3610, loop=asyncio.get_event_loop())
    client = ECHONETAPIClient(server)
    await client.discover(peer)
    for _ in range(100):
        if "discovered" in client._state.get(peer, {}):
            break
        await asyncio.sleep(0.05)
    group, kind, number = LIGHT
    instances = client._state[peer]["instances"]
    print("found", *(f"{group} {kind} {number}" for group in instances for kind in instances[group] for number in instances[group][kind]))
    await client.getAllPropertyMaps(peer, *LIGHT)
    known = client._state[peer]["instances"][group][kind][number]
    print("get map", known[0x9F])
    for value in (None, 0x31):
        if value is not None:
            await client.echonetMessage(peer, *LIGHT, SETC, [{"EPC": 0x80, "PDC": 1, "EDT": value}])
        await client.echonetMessage(peer, *LIGHT, GET, [{"EPC": 0x80}])
        print("read", client._state[peer]["instances"][group][kind][number][0x80].hex())
    light = Factory(peer, client, *LIGHT)
    # All readable properties in one request, except the manufacturer: pychonet cannot decode it after the discovery.
    values = await light.update([epc for epc in light.getGetProperties() if epc != 0x8A])
    print("all", len(values), "missing", [f"{epc:02X}" for epc, value in values.items() if value is None])
    # Two properties in one request.
    await light.setLightStates({"status": 0x30, "brightness": 42})
    print("state", await light.update(0x80), await light.update(0xB0))
    # A value that the light refuses, and a property that it does not have.
    print("refused", await light.setMessage(0xB0, 101), await light.getMessage(0xEE))
    print("unchanged", await light.update(0xB0))


asyncio.run(main(*sys.argv[1:]))
