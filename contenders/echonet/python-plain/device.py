"""A device: objects with their properties and their answers."""

import frame as f
from link import GROUP, PORT

NODE_PROFILE = bytes((0x0E, 0xF0, 0x01))
LIGHTING = bytes((0x02, 0x91, 0x01))
INSTANCE_LIST = 0xD5
LIST_CODES_MAX = 15  # of a property map in its shorter form
READABLE, WRITABLE, ANNOUNCED = 1, 2, 4


class Slot:
    """A property slot; it is absent without access."""

    __slots__ = ("access", "value")

    def __init__(self):
        self.access, self.value = 0, b""


class Object:
    def __init__(self, eoj):
        self.eoj = eoj
        self.slots = [Slot() for _ in range(128)]  # EPC 80 to FF

    def add(self, epc, access, value):
        slot = self.slots[epc - f.EPC_MIN]
        slot.access, slot.value = access, bytearray(value)

    def add_maps(self):
        """Add the maps. They are readable, so all of them exist before the map of readable properties is built."""
        for epc in (0x9D, 0x9E, 0x9F):
            self.add(epc, READABLE, b"")
        for epc, access in ((0x9D, ANNOUNCED), (0x9E, WRITABLE), (0x9F, READABLE)):
            self.add(epc, READABLE, self._map(access))

    def _map(self, access):
        """The property map of the codes with this access, as a list or a bitmap."""
        codes = [code for code, slot in enumerate(self.slots) if slot.access & access]
        if len(codes) <= LIST_CODES_MAX:
            return bytes([len(codes)] + [f.EPC_MIN + code for code in codes])
        bitmap = bytearray(17)
        bitmap[0] = len(codes)
        for code in codes:
            bitmap[1 + code % 16] |= 1 << code // 16
        return bitmap

    def is_meant(self, deoj):
        """Whether a request addresses this object. Instance 0 addresses all instances of a class."""
        return self.eoj == deoj or (deoj[2] == 0 and self.eoj[:2] == deoj[:2])

    def write_all(self, properties, answer):
        """Write the values. The answer has PDC 0 for accepted values, and the original value for refused ones. Returns whether all were accepted."""
        all_taken = True
        for epc, edt in properties:
            slot = self.slots[epc - f.EPC_MIN]
            if slot.access & WRITABLE and len(edt) == len(slot.value):
                slot.value[:] = edt
                answer.put(epc)
            else:
                all_taken = False
                answer.put(epc, edt)
        return all_taken

    def read_all(self, properties, access, answer):
        """Read the values. The answer has PDC 0 for unreadable values and for those that do not fit. Returns whether there were none of these."""
        all_given = True
        others = len(properties)
        for epc, _ in properties:
            others -= 1
            slot = self.slots[epc - f.EPC_MIN]
            if slot.access & access and answer.has_room(len(slot.value), others):
                answer.put(epc, slot.value)
            else:
                all_given = False
                answer.put(epc)
        return all_given


class Device:
    """A node profile and a mono-functional lighting."""

    def __init__(self, identification, link):
        self._link, self._answer = link, f.Writer()
        profile, lighting = self._objects = Object(NODE_PROFILE), Object(LIGHTING)
        profile.add(0x80, READABLE | ANNOUNCED, b"\x30")
        profile.add(0x82, READABLE, b"\x01\x0d\x01\x00")  # 1.13, format 1
        profile.add(0x83, READABLE, identification)
        profile.add(0x8A, READABLE, b"\x00\x00\x0b")
        profile.add(0xD3, READABLE, b"\x00\x00\x01")
        profile.add(0xD4, READABLE, b"\x00\x02")
        profile.add(INSTANCE_LIST, ANNOUNCED, b"\x01" + LIGHTING)
        profile.add(0xD6, READABLE, b"\x01" + LIGHTING)
        profile.add(0xD7, READABLE, b"\x01" + LIGHTING[:2])
        profile.add_maps()
        lighting.add(0x80, READABLE | WRITABLE | ANNOUNCED, b"\x30")
        lighting.add(0x81, READABLE | WRITABLE | ANNOUNCED, b"\x00")
        lighting.add(0x82, READABLE, b"\x00\x00\x52\x00")  # appendix, release R
        lighting.add(0x88, READABLE | ANNOUNCED, b"\x42")
        lighting.add(0x8A, READABLE, b"\x00\x00\x0b")
        lighting.add(0xB6, READABLE | WRITABLE, b"\x41")
        lighting.add_maps()

    def announce(self):
        """Announce D5 to the group, as a node does at its start."""
        profile = self._objects[0]
        self._answer.begin(1, profile.eoj, profile.eoj, f.INF)
        self._answer.put(INSTANCE_LIST, profile.slots[INSTANCE_LIST - f.EPC_MIN].value)
        self._link.sendto(self._answer.datagram(), GROUP)

    def run(self):
        """Answer until the socket fails."""
        buffer = memoryview(bytearray(f.DATAGRAM_BYTES_MAX))
        request = f.Frame()
        while True:
            length, (address, _) = self._link.recvfrom_into(buffer)
            if not request.parse(buffer[:length]):
                continue
            for one in self._objects:
                to_group = self._handle(one, request) if one.is_meant(request.deoj) else None
                if to_group is not None:
                    # The answer is sent to port 3610, regardless of the source port.
                    self._link.sendto(self._answer.datagram(), GROUP if to_group else (address, PORT))

    def _handle(self, one, request):
        """Write the answer of an object. Returns whether it goes to the group, or None without an answer."""
        answer, properties = self._answer, request.properties
        answer.begin(request.tid, one.eoj, request.seoj, f.GET_RES)
        match request.esv:
            case f.GET:
                every = one.read_all(properties, READABLE, answer)
                answer.set_esv(f.GET_RES if every else f.GET_SNA)
            case f.INF_REQ:
                every = one.read_all(properties, READABLE | ANNOUNCED, answer)
                answer.set_esv(f.INF if every else f.INF_SNA)
                return every
            case f.SETI:
                if one.write_all(properties, answer):
                    return None
                answer.set_esv(f.SETI_SNA)
            case f.SETC:
                every = one.write_all(properties, answer)
                answer.set_esv(f.SET_RES if every else f.SETC_SNA)
            case f.SETGET:
                every = one.write_all(properties, answer)
                answer.list()
                every = one.read_all(request.gets, READABLE, answer) and every
                answer.set_esv(f.SETGET_RES if every else f.SETGET_SNA)
            case f.INFC:
                for epc, _ in properties:
                    answer.put(epc)
                answer.set_esv(f.INFC_RES)
            case _:  # an answer, or an announcement of another node
                return None
        return False
