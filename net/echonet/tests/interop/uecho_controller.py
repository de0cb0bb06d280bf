"""The controller of uecho, as its documentation shows it: finds a device, reads and switches it."""

import sys
import time

from uecho import ESV, Controller, Message

LIGHT = 0x029101


def message(esv, prop):
    request = Message()
    request.DEOJ = LIGHT
    request.ESV = esv
    request.add_property(prop)
    return request


def main():
    address = sys.argv[1]
    controller = Controller()
    if not controller.start():
        sys.exit("not started")
    time.sleep(1)
    node = controller.get_node(address)
    if node is None or node.get_object(LIGHT) is None:
        controller.stop()
        sys.exit("not found")
    print("found 029101")
    for request in (
        message(ESV.READ_REQUEST, 0x80),
        message(ESV.WRITE_REQUEST_RESPONSE_REQUIRED, (0x80, bytes([0x31]))),
        message(ESV.READ_REQUEST, 0x80),
    ):
        answer = controller.post_message(request, node)
        if answer is None:
            sys.exit("no answer")
        if request.ESV == ESV.READ_REQUEST:
            print("read", answer.properties[0].data.hex())
        else:
            print("wrote", f"{answer.ESV:x}")
    controller.stop()


main()
