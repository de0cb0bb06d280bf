"""aiortc as a contender of the datachannel workload, in both roles.

aiortc runs with its defaults, except that its default STUN server is disabled.
"""

import ipaddress

from answerer import Answerer
from netdyno_contender.peers import contend
from offerer import Offerer

MAX_MESSAGE_BYTES = 262144


def refuse(setup):
    """The reason why a setup is unsupported, if any."""
    local = ipaddress.ip_address(setup.local)
    return f"aioice gathers no candidate on a loopback address, and {local} is one" if local.is_loopback else None


if __name__ == "__main__":
    contend("aiortc", {"offerer": Offerer, "answerer": Answerer}, MAX_MESSAGE_BYTES, refuse)
