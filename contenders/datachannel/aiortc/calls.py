"""The calls of aiortc that both roles make."""

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.sdp import candidate_from_sdp
from netdyno_contender import description

CANDIDATE_ADDRESS = 4  # the index of the address among the words of a candidate line


class Calls:
    remote_type = None  # of the other role's descriptions

    def new_connection(self, connection):
        self.times.begin(connection)
        # Without a list of servers, aiortc uses a public STUN server.
        pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.watch(connection, pc)
        return pc

    async def describe(self, pc, connection, local_description):
        """Set and send the description. Setting it gathers the candidates, which it then contains."""
        await pc.setLocalDescription(local_description)
        lines = pc.localDescription.sdp.splitlines()
        kept = [line for line in lines if not is_candidate(line) or line.split()[CANDIDATE_ADDRESS] == self.local]
        if not any(map(is_candidate, kept)):
            raise RuntimeError(f"aioice gathered no candidate for {self.local}")
        sdp = "".join(line + "\r\n" for line in kept)
        self.lab.signal(self.peer, description(connection, pc.localDescription.type, sdp))

    async def remote_description(self, connection, first):
        """The peer's description from its first signal, with at least one candidate.

        aioice fails at once if it starts without a candidate, so a trickled candidate is inserted into the description.
        """
        if first["type"] != self.remote_type:
            raise ValueError(f"unexpected signal type {first['type']!r}")
        sdp = first["sdp"]
        while not any(map(is_candidate, sdp.splitlines())):
            sdp += "a=" + candidate_of(await self.next_signal(connection)) + "\r\n"
        return RTCSessionDescription(sdp=sdp, type=first["type"])

    async def add_candidates(self, pc, connection):
        """Add the peer's later candidates until the process ends."""
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
        raise ValueError(f"unexpected signal type {body['type']!r}")
    return body["candidate"]
