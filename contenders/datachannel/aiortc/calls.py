"""aiortc's calls that both roles make."""

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.sdp import candidate_from_sdp
from netdyno_contender import description

CANDIDATE_ADDRESS = 4  # the number of the word of a candidate line that is its address


class Calls:
    remote_type = None  # of the other role's descriptions

    def new_connection(self, connection):
        self.times.begin(connection)
        # No list of servers at all would mean a public STUN server.
        pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.watch(connection, pc)
        return pc

    async def describe(self, pc, connection, local_description):
        """Set and send the description; setting it gathers the candidates, and it carries them."""
        await pc.setLocalDescription(local_description)
        lines = pc.localDescription.sdp.splitlines()
        kept = [line for line in lines if not is_candidate(line) or line.split()[CANDIDATE_ADDRESS] == self.local]
        if not any(map(is_candidate, kept)):
            raise RuntimeError(f"aioice gathered no candidate for {self.local}")
        sdp = "".join(line + "\r\n" for line in kept)
        self.lab.signal(self.peer, description(connection, pc.localDescription.type, sdp))

    async def remote_description(self, connection, first):
        """The peer's description, from its first signal, once it has a candidate.

        aioice gives up at once when it starts without one, so one that comes by itself is put into the description.
        """
        if first["type"] != self.remote_type:
            raise ValueError(f"a signal of type {first['type']!r}")
        sdp = first["sdp"]
        while not any(map(is_candidate, sdp.splitlines())):
            sdp += "a=" + candidate_of(await self.next_signal(connection)) + "\r\n"
        return RTCSessionDescription(sdp=sdp, type=first["type"])

    async def add_candidates(self, pc, connection):
        """Take the peer's later candidates, for ever."""
        while True:
            body = await self.next_signal(connection)
            if not candidate_of(body):  # the end of candidates
                continue
            candidate = candidate_from_sdp(candidate_of(body).removeprefix("candidate:"))
            candidate.sdpMid, candidate.sdpMLineIndex = body.get("sdp_mid"), body.get("sdp_mline_index")
            await pc.addIceCandidate(candidate)


def is_candidate(line):
    return line.startswith("a=candidate:")


def candidate_of(body):
    if body["type"] != "candidate":
        raise ValueError(f"a signal of type {body['type']!r}")
    return body["candidate"]
