"""getStats, by W3C's names."""

import datetime
import re

from netdyno_rtc import InvalidStateError
from support import Case, Heard, ours


def of_type(report, kind):
    return [stats for stats in report.values() if stats.type == kind]


class Stats(Case):
    async def test_a_report_is_complete_and_consistent_at_both_ends(self):
        ends = ours(), ours()
        channel, other = await self.connect(*ends, protocol="p")
        heard = Heard(other)
        for number in range(10):
            channel.send(bytes(1000 + number))
        await heard.until(10)
        here, there = [await end.getStats() for end in ends]
        for report, end in ((here, ends[0]), (there, ends[1])):
            self.assertEqual([id for id in report], [stats.id for stats in report.values()])
            for stats in report.values():
                self.assertEqual(stats.timestamp.tzinfo, datetime.timezone.utc)
                # Referenced entries exist.
                for name, value in vars(stats).items():
                    if name.endswith("Id") and value is not None:
                        self.assertIn(value, report, name)
            transport = report["T"]
            states = transport.iceState, transport.dtlsState, transport.tlsVersion
            self.assertEqual(states, ("connected", "connected", "FEFC"))
            pair = report[transport.selectedCandidatePairId]
            self.assertEqual((pair.state, pair.nominated, pair.bytesSent), ("succeeded", True, transport.bytesSent))
            self.assertGreater(pair.responsesReceived, 0)
            local = report[pair.localCandidateId]
            self.assertEqual((local.type, local.address, local.candidateType), ("local-candidate", "127.0.0.1", "host"))
            self.assertIn(f" {local.address} {local.port} typ host", end.localDescription.sdp)
            fingerprint = re.search("a=fingerprint:sha-256 (.*)\r\n", end.localDescription.sdp)[1]
            self.assertEqual(report[transport.localCertificateId].fingerprint, fingerprint)
            self.assertEqual([stats.dataChannelsOpened for stats in of_type(report, "peer-connection")], [1])
            self.assertGreater(of_type(report, "sctp-transport")[0].congestionWindow, 0)
        self.assertEqual({here["T"].iceRole, there["T"].iceRole}, {"controlling", "controlled"})
        self.assertEqual({here["T"].dtlsRole, there["T"].dtlsRole}, {"client", "server"})
        self.assertEqual(here[here["T"].remoteCertificateId].fingerprint, there[there["T"].localCertificateId].fingerprint)
        (sender,), (receiver,) = of_type(here, "data-channel"), of_type(there, "data-channel")
        self.assertEqual((sender.label, sender.protocol, sender.state), ("test", "p", "open"))
        self.assertEqual((sender.messagesSent, sender.bytesSent), (10, 10_045))
        self.assertEqual((receiver.messagesReceived, receiver.bytesReceived), (10, 10_045))
        self.assertEqual(sender.dataChannelIdentifier, channel.id)

    async def test_ids_are_stable(self):
        offerer, answerer = ours(), ours()
        channel, _ = await self.connect(offerer, answerer)
        answerer.remove_all_listeners("datachannel")
        second = offerer.createDataChannel("second")
        await second.wait_open()
        before = await offerer.getStats()
        channel.close()
        await channel.wait_closed()
        after = await offerer.getStats()
        (left,) = of_type(after, "data-channel")
        self.assertEqual((before[left.id].label, left.label), ("second", "second"))
        self.assertLess(set(after), set(before))

    async def test_before_the_beginning_and_after_the_end(self):
        pc = ours()
        self.assertEqual(await pc.getStats(), {})
        pc.createDataChannel("x")
        report = await pc.getStats()
        transport = report["T"]
        states = transport.iceState, transport.dtlsState, transport.dtlsRole, transport.tlsVersion
        self.assertEqual(states, ("new", "new", "unknown", None))
        self.assertIsNone(transport.selectedCandidatePairId)
        await pc.close()
        with self.assertRaises(InvalidStateError):
            await pc.getStats()
