"""netdyno-rtc's Python package as a contender of the datachannel workload, in both roles.

Messages are sent by `send_many` and received by `receive_many`, with the package's defaults.
"""

from netdyno_contender.peers import contend
from roles import Answerer, Offerer

MAX_MESSAGE_BYTES = 262144

if __name__ == "__main__":
    contend("netdyno-rtc", {"offerer": Offerer, "answerer": Answerer}, MAX_MESSAGE_BYTES)
