"""A light of uecho, as its documentation shows it."""

import time

from uecho import Device, LocalNode, ObjectRequestHandler, Property


class Light(Device, ObjectRequestHandler):
    def __init__(self):
        super().__init__(0x029101)
        prop = Property(0x80)
        prop.data = bytes([0x30])
        self.add_property(prop)
        self.set_request_handler(self)

    def property_read_requested(self, prop):
        return prop.code == 0x80

    def property_write_requested(self, prop, data):
        if prop.code != 0x80 or data not in (b"\x30", b"\x31"):
            return False
        self.set_property_data(0x80, data)
        return True


node = LocalNode()
node.add_object(Light())
node.start()
while True:
    time.sleep(60)
