"""asyncio as a contender of the rtt workload, in both roles. The argument selects the event loop."""

import asyncio
import importlib.metadata
import ipaddress
import platform
import sys

from netdyno_contender import Signal, Start, connect
from netdyno_contender.rtt import Rtt
from ping import Ping
from pong import Pong

ROLES = {"ping": Ping, "pong": Pong}


def check(lab, setup):
    """The parameters. An unsupported role ends the process."""
    if setup.workload != "rtt" or setup.role not in ROLES:
        lab.unsupported(f"workload {setup.workload!r}, role {setup.role!r}")
    try:
        for address in (setup.local, setup.peer):
            ipaddress.ip_address(address)
        return Rtt.from_setup(setup)
    except ValueError as error:
        return lab.failed(str(error))


async def serve(lab, setup, params, name, version):
    role = ROLES[setup.role](lab, setup, params)
    lab.answer_marks(role.values)
    # By default, asyncio only logs exceptions of callbacks.
    asyncio.get_running_loop().set_exception_handler(lambda _, context: lab.failed(f"{setup.role}: {context}"))
    lab.ready(name, version)
    await role.begin()
    try:
        async for event in lab.events():
            match event:
                case Signal(body=body):
                    role.signal(body)
                case Start():
                    role.start(event)
    except ValueError as error:
        lab.failed(str(error))
    histograms = role.stop()
    lab.result(role.values(), histograms)


def main():
    lab, setup = connect()
    params = check(lab, setup)
    if sys.argv[1:] == ["uvloop"]:
        import uvloop  # imported here, so that the other contender does not load it

        uvloop.run(serve(lab, setup, params, "uvloop", importlib.metadata.version("uvloop")))
    else:
        asyncio.run(serve(lab, setup, params, "asyncio", platform.python_version()))


if __name__ == "__main__":
    main()
