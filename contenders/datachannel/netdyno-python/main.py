"""netdyno-rtc's Python package as a contender of the datachannel workload, in both roles.

Messages are sent by `send_many` and taken by `receive_many`, with the package's defaults. Marks are answered on the thread that reads
stdin, because a turn of a full event loop can take longer than a mark may.
"""

import asyncio
import importlib.metadata

from netdyno_contender import DataChannel, Signal, Start, connect
from roles import Answerer, Offerer

ROLES = {"offerer": Offerer, "answerer": Answerer}
MAX_MESSAGE_BYTES = 262144


def check(lab, setup):
    """The parameters, if this role and these parameters can be served; otherwise the process ends here."""
    if setup.workload != "datachannel" or setup.role not in ROLES:
        lab.unsupported(f"workload {setup.workload!r}, role {setup.role!r}")
    try:
        params = DataChannel.of(setup)
    except ValueError as error:
        lab.failed(str(error))
    if params.message_bytes > MAX_MESSAGE_BYTES:
        lab.unsupported(f"messages of more than {MAX_MESSAGE_BYTES} bytes")
    return params


async def serve(lab, setup, params):
    role = ROLES[setup.role](lab, setup, params)
    lab.answer_marks(role.values)
    lab.ready("netdyno-rtc", importlib.metadata.version("netdyno-rtc"))
    async for event in lab.events():
        match event:
            case Signal(body=body):
                role.signal(body)
            case Start(phase=phase):
                role.start(phase)
    role.may_lose_peer = True
    lab.result(role.values())


def main():
    lab, setup = connect()
    asyncio.run(serve(lab, setup, check(lab, setup)))


if __name__ == "__main__":
    main()
