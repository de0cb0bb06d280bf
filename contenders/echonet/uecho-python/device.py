"""Device: a node with the standard lighting."""

from netdyno_contender.echonet import LIGHTING, MANUFACTURER_CODE, NODE_PROFILE, identification
from uecho import Device, LocalNode, NodeProfile

OPERATING = 0x30
CLASSES = bytes((1, LIGHTING >> 16, LIGHTING >> 8 & 0xFF))  # the library counts two classes but lists one


def start_device(seed):
    """Start the library's node, which runs on its own threads. Returns whether it has started."""
    lighting = Device(LIGHTING)
    lighting.set_property_integer(NodeProfile.OPERATING_STATUS, OPERATING, 1)
    node = LocalNode()
    node.add_object(lighting)
    profile = node.get_object(NODE_PROFILE)
    profile.set_property_data(NodeProfile.IDENTIFICATION_NUMBER, identification(seed))
    profile.set_property_integer(NodeProfile.MANUFACTURER_CODE, MANUFACTURER_CODE, NodeProfile.MANUFACTURER_CODE_SIZE)
    profile.set_property_data(NodeProfile.SELF_NODE_CLASS_LIST_S, CLASSES)
    return node.start()
