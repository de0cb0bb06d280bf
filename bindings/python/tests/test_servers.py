"""STUN and TURN servers and other NAT traversal, with a real coturn if installed."""

import asyncio
import contextlib
import os
import pathlib
import socket
import tempfile
from unittest import mock

import aiortc
import netdyno_rtc
from coturn import PASSWORD, USERNAME, Coturn, certified
from netdyno_rtc import InvalidStateError, RTCConfiguration, RTCIceServer, RTCPeerConnection
from support import Case, Heard, ours, theirs


def candidates(pc):
    """The candidates of its description, split into words."""
    lines = pc.localDescription.sdp.splitlines()
    return [line.removeprefix("a=candidate:").split() for line in lines if line.startswith("a=candidate:")]


def kinds(pc):
    return [words[words.index("typ") + 1] for words in candidates(pc)]


@contextlib.contextmanager
def silent():
    """The URL of a server that never answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        yield f"stun:127.0.0.1:{nobody.getsockname()[1]}"


class Servers(Case):
    def relayed(self, package, server, **more):
        """A relay-only connection, created in the same way with both packages."""
        configuration = package.RTCConfiguration(
            iceServers=[server.server(package, **more)], iceTransportPolicy=package.RTCIceTransportPolicy.RELAY
        )
        return package.RTCPeerConnection(configuration)

    async def exchange(self, channel, other):
        for source, sink in ((channel, other), (other, channel)):
            heard = Heard(sink)
            said = [bytes([number]) * (number * 37) for number in range(200)]
            for message in said:
                source.send(message)
            self.assertEqual(await heard.until(len(said)), said)

    async def test_two_relay_only_peers_connect(self):
        server = Coturn(self)
        offerer, answerer = self.relayed(netdyno_rtc, server), self.relayed(netdyno_rtc, server)
        states = []
        offerer.on("icegatheringstatechange", lambda: states.append(offerer.iceGatheringState))
        channel, other = await self.connect(offerer, answerer)
        self.assertEqual(states, ["gathering", "complete"])
        for pc in (offerer, answerer):
            self.assertEqual(kinds(pc), ["relay"])
            self.assertIn("a=end-of-candidates\r\n", pc.localDescription.sdp)
            report = await pc.getStats()
            pair = report[report["T"].selectedCandidatePairId]
            self.assertEqual(report[pair.localCandidateId].candidateType, "relay")
        await self.exchange(channel, other)
        self.assertTrue(server.logs("peer 127.0.0.1 lifetime updated"), "a channel carries it")

    async def test_aiortc_as_the_peer_with_the_same_configuration(self):
        server = Coturn(self)
        for makes in ((netdyno_rtc, aiortc), (aiortc, netdyno_rtc)):
            with self.subTest(f"{makes[0].__name__} offers"):
                ends = [self.relayed(package, server) for package in makes]
                channel, other = await self.connect(*ends)
                self.assertEqual([kinds(end) for end in ends], [["relay"], ["relay"]])
                await self.exchange(channel, other)

    async def test_only_one_peer_uses_the_server(self):
        server = Coturn(self)
        for ends in ((self.relayed(netdyno_rtc, server), theirs()), (ours(), self.relayed(netdyno_rtc, server))):
            await self.exchange(*await self.connect(*ends))

    async def test_a_wrong_password_yields_no_candidate_without_delay(self):
        server = Coturn(self)
        pc = self.relayed(netdyno_rtc, server, password="wrong")
        self.addAsyncCleanup(pc.close)
        pc.createDataChannel("x")
        await asyncio.wait_for(pc.setLocalDescription(), 20)
        self.assertEqual((kinds(pc), pc.iceGatheringState), ([], "complete"))

    def by_tls(self, server, roots):
        """A connection that uses the server over TLS only, with these trusted authorities."""
        servers = [RTCIceServer(f"turns:127.0.0.1:{server.tls_port}?transport=tcp", USERNAME, PASSWORD)]
        return RTCPeerConnection(RTCConfiguration(iceServers=servers, iceTransportPolicy="relay", serverRoots=roots))

    async def test_tls_with_roots_as_text_bytes_file_and_of_the_system(self):
        server = Coturn(self)
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder, "roots.pem")
            place.write_bytes(b"# \xfc\n" + server.authority)
            # This variable replaces the system's authorities.
            patch = mock.patch.dict(os.environ, {"SSL_CERT_FILE": str(place)})
            patch.start()
            self.addCleanup(patch.stop)
            for roots in (server.authority, place, None):
                offerer, answerer = self.by_tls(server, server.authority.decode()), self.by_tls(server, roots)
                channel, other = await self.connect(offerer, answerer)
                self.assertEqual([kinds(pc) for pc in (offerer, answerer)], [["relay"], ["relay"]])
                report = await answerer.getStats()
                pair = report[report["T"].selectedCandidatePairId]
                ways = [report[id].relayProtocol for id in (pair.localCandidateId, pair.remoteCandidateId)]
                self.assertEqual(ways, ["tls", None])
                await self.exchange(channel, other)

    async def test_server_failures_are_reported(self):
        server = Coturn(self)
        pc = self.by_tls(server, certified()[0])
        self.addAsyncCleanup(pc.close)
        told = []
        pc.on("icecandidateerror", told.append)
        pc.createDataChannel("x")
        await asyncio.wait_for(pc.setLocalDescription(), 20)
        self.assertEqual((kinds(pc), pc.iceGatheringState, len(told)), ([], "complete", 1))
        self.assertIn(str(server.tls_port), told[0].url)
        self.assertIn("`server_roots`", told[0].errorText)

    async def test_tcp_port(self):
        pc = ours(tcpPort=0)
        self.addAsyncCleanup(pc.close)
        pc.createDataChannel("x")
        await pc.setLocalDescription()
        udp, tcp = candidates(pc)
        self.assertEqual((udp[2], tcp[2], tcp[-2:]), ("udp", "tcp", ["tcptype", "passive"]))
        with socket.create_connection(("127.0.0.1", int(tcp[5])), 10):
            pass

    async def test_close_ends_gathering(self):
        with silent() as url:
            pc = ours(iceServers=[RTCIceServer(url)])
            pc.createDataChannel("x")
            describing = asyncio.create_task(pc.setLocalDescription())
            while pc.iceGatheringState != "gathering":
                await asyncio.sleep(0.001)
            self.assertEqual((pc.signalingState, kinds(pc)), ("have-local-offer", ["host"]))
            await pc.close()
            with self.assertRaises(InvalidStateError):
                await describing

    async def test_public_addresses_and_port_ranges(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        configuration = {"publicAddresses": ["203.0.113.7"], "ports": (port, port)}
        pc = ours(**configuration)
        self.addAsyncCleanup(pc.close)
        pc.createDataChannel("x")
        await pc.setLocalDescription()
        places = [(words[4], int(words[5]), words[7]) for words in candidates(pc)]
        self.assertEqual(places, [("127.0.0.1", port, "host"), ("203.0.113.7", port, "srflx")])
        with self.assertRaisesRegex(OSError, f"all UDP ports from {port} to {port} are in use"):
            ours(**configuration).createDataChannel("x")

    async def test_different_configurations_have_separate_drivers(self):
        with silent() as url:
            plain, asking = ours(), ours(iceServers=[RTCIceServer(url)])
            for pc in (plain, asking):
                self.addAsyncCleanup(pc.close)
                pc.createDataChannel("x")
            await asyncio.wait_for(plain.setLocalDescription(), 5)
            self.assertEqual(plain.iceGatheringState, "complete")

    async def test_errors_name_cause_and_remedy(self):
        for why, server in (
            ("http://stun: expected stun:host:port, turn:host:port or turns:host:port", RTCIceServer("http://stun")),
            ("turn:127.0.0.1: a TURN server needs a username and a credential", RTCIceServer("turn:127.0.0.1")),
            ("server_roots. must contain certificates", RTCIceServer("turns:127.0.0.1", "name", "password")),
            ("too many servers", RTCIceServer(["stun:127.0.0.1"] * 9)),
        ):
            with self.assertRaisesRegex(ValueError, why):
                ours(iceServers=[server], serverRoots="none").createDataChannel("x")
        for why, settings in (
            ('publicAddresses: "here" is not an IP address', {"publicAddresses": ["here"]}),
            ("ports: 9 to 8 is not a range", {"ports": (9, 8)}),
            ("ports: 0 to 8 is not a range", {"ports": (0, 8)}),
        ):
            with self.assertRaisesRegex(ValueError, why):
                ours(**settings).createDataChannel("x")
        with self.assertRaisesRegex(ValueError, "neither 'all' nor 'relay'"):
            RTCPeerConnection(RTCConfiguration(iceTransportPolicy="some"))
        with self.assertRaisesRegex(ValueError, "is not 'password'"):
            RTCIceServer("turn:127.0.0.1", "a", "b", "oauth")
        self.assertNotIn("secret", repr(RTCIceServer("turn:127.0.0.1", "name", "secret")))
