//! Parses arbitrary bytes as RTCP: accepted packets survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_rtp::Ssrc;
use netdyno_rtp::rtcp::{Compound, CompoundWriter, Item, RtcpPacket, Rule};

fuzz_target!(|datagram: &[u8]| {
    let strict = Compound::parse(datagram, Rule::Compound);
    let Ok(compound) = Compound::parse(datagram, Rule::ReducedSize) else {
        assert!(strict.is_err());
        return;
    };
    assert!(compound.packets().count() > 0);
    for packet in compound.packets() {
        let mut out = vec![0xff; 2 * datagram.len() + 64];
        let mut writer = CompoundWriter::new(&mut out);
        let wrote = write(&packet, &mut writer);
        let length = writer.finish();
        assert_eq!(wrote, length > 0);
        if !wrote {
            continue;
        }
        let again = Compound::parse(&out[..length], Rule::ReducedSize).expect("a written packet is valid");
        let again: Vec<_> = again.packets().collect();
        let [again] = &again[..] else { panic!("one packet was written") };
        check(&packet, again);
    }
});

/// Writes a packet. Returns false if it cannot be written.
fn write(packet: &RtcpPacket<'_>, writer: &mut CompoundWriter<'_>) -> bool {
    match packet {
        RtcpPacket::SenderReport(report) => {
            writer.sender_report(&report.info, &report.blocks.collect::<Vec<_>>())
        }
        RtcpPacket::ReceiverReport(report) => {
            writer.receiver_report(report.ssrc, &report.blocks.collect::<Vec<_>>())
        }
        RtcpPacket::Sdes(sdes) => {
            let chunks: Vec<(Ssrc, Vec<Item<'_>>)> =
                sdes.chunks().map(|chunk| (chunk.ssrc, chunk.items.collect())).collect();
            let chunks: Vec<_> = chunks.iter().map(|(ssrc, items)| (*ssrc, &items[..])).collect();
            writer.sdes(&chunks)
        }
        RtcpPacket::Bye(bye) => writer.bye(&bye.sources.collect::<Vec<_>>(), bye.reason),
        RtcpPacket::App(app) => app.data.len().is_multiple_of(4) && writer.app(app),
        RtcpPacket::Nack(nack) => writer.nack(nack.sender, nack.media, nack.sequences()),
        RtcpPacket::Pli(pli) => writer.pli(*pli),
        RtcpPacket::Fir(fir) => writer.fir(fir.sender, &fir.entries().collect::<Vec<_>>()),
        RtcpPacket::Feedback(feedback) => writer.other_feedback(feedback),
        _ => false,
    }
}

/// Checks equality, except for parts that are not written: profile extensions, reserved bits, and the grouping of NACKs.
fn check(packet: &RtcpPacket<'_>, again: &RtcpPacket<'_>) {
    match (packet, again) {
        (RtcpPacket::SenderReport(a), RtcpPacket::SenderReport(b)) => {
            assert_eq!((a.info, a.blocks.collect::<Vec<_>>()), (b.info, b.blocks.collect::<Vec<_>>()));
        }
        (RtcpPacket::ReceiverReport(a), RtcpPacket::ReceiverReport(b)) => {
            assert_eq!((a.ssrc, a.blocks.collect::<Vec<_>>()), (b.ssrc, b.blocks.collect::<Vec<_>>()));
        }
        (RtcpPacket::Sdes(a), RtcpPacket::Sdes(b)) => {
            let texts = |sdes: &netdyno_rtp::rtcp::Sdes<'_>| -> Vec<(Ssrc, Vec<(String, Vec<u8>)>)> {
                let item = |item: Item<'_>| (format!("{:?}", item.kind), item.text.to_vec());
                sdes.chunks().map(|chunk| (chunk.ssrc, chunk.items.map(item).collect())).collect()
            };
            assert_eq!(texts(a), texts(b));
        }
        (RtcpPacket::Nack(a), RtcpPacket::Nack(b)) => {
            let mut sequences = [a, b].map(|nack| nack.sequences().map(|s| s.0).collect::<Vec<_>>());
            sequences.iter_mut().for_each(|sequences| {
                sequences.sort_unstable();
                sequences.dedup();
            });
            assert_eq!(sequences[0], sequences[1]);
        }
        (RtcpPacket::Fir(a), RtcpPacket::Fir(b)) => {
            assert_eq!(
                (a.sender, a.entries().collect::<Vec<_>>()),
                (b.sender, b.entries().collect::<Vec<_>>())
            );
        }
        _ => assert_eq!(packet, again),
    }
}
