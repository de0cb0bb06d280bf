use proptest::prelude::*;

use super::*;
use crate::types::{NtpTime, Sequence, Ssrc, Timestamp};

const INFO: SenderInfo = SenderInfo {
    ssrc: Ssrc(0x0102_0304),
    ntp: NtpTime(0x0506_0708_090a_0b0c),
    rtp: Timestamp(0x0d0e_0f10),
    packets: 0x1112_1314,
    octets: 0x1516_1718,
};
const BLOCK: ReportBlock = ReportBlock {
    ssrc: Ssrc(0x2122_2324),
    fraction_lost: 0x25,
    cumulative_lost: -2,
    highest_sequence: 0x292a_2b2c,
    jitter_ticks: 0x2d2e_2f30,
    last_sr: 0x3132_3334,
    delay_since_last_sr: 0x3536_3738,
};

fn written(write: impl FnOnce(&mut CompoundWriter<'_>) -> bool) -> Vec<u8> {
    let mut out = vec![0xff; 2000];
    let mut writer = CompoundWriter::new(&mut out);
    assert!(write(&mut writer));
    let length = writer.finish();
    out.truncate(length);
    out
}

fn only(datagram: &[u8]) -> RtcpPacket<'_> {
    let mut packets = Compound::parse(datagram, Rule::ReducedSize).unwrap().packets();
    let packet = packets.next().unwrap();
    assert_eq!(packets.next(), None);
    packet
}

#[test]
fn sender_report_is_encoded_as_specified() {
    let bytes = written(|out| out.sender_report(&INFO, &[BLOCK]));
    let mut expected = vec![0x81, 200, 0, 12];
    expected.extend(1..=0x18);
    expected.extend([0x21, 0x22, 0x23, 0x24, 0x25, 0xff, 0xff, 0xfe]);
    expected.extend(0x29..=0x38);
    assert_eq!(bytes, expected);
    let RtcpPacket::SenderReport(report) = only(&bytes) else { panic!("a sender report") };
    assert_eq!((report.info, report.extension), (INFO, &[][..]));
    assert_eq!(report.blocks.collect::<Vec<_>>(), [BLOCK]);
}

#[test]
fn cumulative_loss_is_clamped() {
    for (lost, read) in [(1 << 23, (1 << 23) - 1), (-(1 << 23) - 1, -(1 << 23)), (5, 5)] {
        let bytes =
            written(|out| out.receiver_report(Ssrc(1), &[ReportBlock { cumulative_lost: lost, ..BLOCK }]));
        let RtcpPacket::ReceiverReport(mut report) = only(&bytes) else { panic!("a receiver report") };
        assert_eq!(report.blocks.next().unwrap().cumulative_lost, read);
    }
}

#[test]
fn sdes_and_bye_are_encoded_as_specified() {
    let cname = Item { kind: ItemKind::Cname, text: b"ab@c" };
    let tool = Item { kind: ItemKind::Tool, text: b"x" };
    let bytes = written(|out| out.sdes(&[(Ssrc(1), &[cname, tool]), (Ssrc(2), &[])]));
    let expected = [
        0x82, 202, 0, 6, 0, 0, 0, 1, 1, 4, b'a', b'b', b'@', b'c', 6, 1, b'x', 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
        0,
    ];
    assert_eq!(bytes, expected);
    let RtcpPacket::Sdes(sdes) = only(&bytes) else { panic!("a source description") };
    let chunks: Vec<_> = sdes.chunks().map(|chunk| (chunk.ssrc, chunk.items.collect::<Vec<_>>())).collect();
    assert_eq!(chunks, [(Ssrc(1), vec![cname, tool]), (Ssrc(2), vec![])]);

    let bytes = written(|out| out.bye(&[Ssrc(1)], Some(b"done")));
    assert_eq!(bytes, [0x81, 203, 0, 3, 0, 0, 0, 1, 4, b'd', b'o', b'n', b'e', 0, 0, 0]);
    let RtcpPacket::Bye(bye) = only(&bytes) else { panic!("a goodbye") };
    assert_eq!((bye.sources.collect::<Vec<_>>(), bye.reason), (vec![Ssrc(1)], Some(&b"done"[..])));
}

#[test]
fn feedback_is_encoded_as_specified() {
    let missing = [65_534, 65_535, 14, 15, 300].map(Sequence);
    let bytes = written(|out| out.nack(Ssrc(1), Ssrc(2), missing));
    let expected = [0x81, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xfe, 0x80, 1, 0, 15, 0, 0, 1, 44, 0, 0];
    assert_eq!(bytes, expected);
    let RtcpPacket::Nack(nack) = only(&bytes) else { panic!("a NACK") };
    assert_eq!(nack.sequences().collect::<Vec<_>>(), missing);

    let pli = Pli { sender: Ssrc(1), media: Ssrc(2) };
    let bytes = written(|out| out.pli(pli));
    assert_eq!(bytes, [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]);
    assert_eq!(only(&bytes), RtcpPacket::Pli(pli));

    let entry = FirEntry { media: Ssrc(2), number: 9 };
    let bytes = written(|out| out.fir(Ssrc(1), &[entry]));
    assert_eq!(bytes, [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 9, 0, 0, 0]);
    let RtcpPacket::Fir(fir) = only(&bytes) else { panic!("a FIR") };
    assert_eq!((fir.sender, fir.entries().collect::<Vec<_>>()), (Ssrc(1), vec![entry]));

    let remb =
        Feedback { kind: Feedback::PAYLOAD, format: 15, sender: Ssrc(1), media: Ssrc(0), fci: b"REMB" };
    assert_eq!(only(&written(|out| out.other_feedback(&remb))), RtcpPacket::Feedback(remb));
    let app = App { subtype: 3, ssrc: Ssrc(1), name: *b"name", data: b"data" };
    assert_eq!(only(&written(|out| out.app(&app))), RtcpPacket::App(app));
}

#[test]
fn malformed_datagrams_are_rejected() {
    let report = written(|out| out.receiver_report(Ssrc(1), &[]));
    let pli = written(|out| out.pli(Pli { sender: Ssrc(1), media: Ssrc(2) }));
    let padded = |datagram: &[u8], padding: &[u8]| {
        let mut padded = datagram.to_vec();
        padded[0] |= 0x20;
        padded[3] += padding.len() as u8 / 4;
        [&padded, padding].concat()
    };
    let joined = |parts: &[&[u8]]| parts.concat();
    let all = [Rule::Compound, Rule::ReducedSize];
    for (what, datagram, fine) in [
        ("a report", report.clone(), [true, true]),
        ("a report and feedback", joined(&[&report, &pli]), [true, true]),
        ("feedback alone", pli.clone(), [false, true]),
        ("nothing", vec![], [false, false]),
        ("padding", padded(&report, &[0, 0, 0, 4]), [true, true]),
        ("padding at the end", joined(&[&report, &padded(&pli, &[0, 0, 0, 4])]), [true, true]),
        ("padding before the end", joined(&[&padded(&report, &[0, 0, 0, 4]), &pli]), [false, false]),
        ("padding of no words", padded(&report, &[0, 0, 0, 3]), [false, false]),
        ("padding of everything", padded(&report, &[0, 0, 0, 8]), [false, false]),
        ("padding of nothing", padded(&report, &[0, 0, 0, 0]), [false, false]),
        ("too long", joined(&[&report[..3], &[9], &report[4..]]), [false, false]),
        ("a piece behind it", joined(&[&report, &[0x80, 200]]), [false, false]),
        ("version 1", joined(&[&[0x40], &report[1..]]), [false, false]),
        ("a block too many", joined(&[&[0x81], &report[1..]]), [false, false]),
        ("64 packets", report.repeat(64), [true, true]),
        ("65 packets", report.repeat(65), [false, false]),
        ("an unknown type behind it", joined(&[&report, &[0x9f, 223, 0, 1, 1, 2, 3, 4]]), [true, true]),
        ("a PLI with parameters", joined(&[&report, &[0x81, 206, 0, 3], &[0; 12]]), [false, false]),
        ("a NACK of nothing", joined(&[&report, &[0x81, 205, 0, 2], &[0; 8]]), [false, false]),
        ("a FIR of half an entry", joined(&[&report, &[0x84, 206, 0, 3], &[0; 12]]), [false, false]),
        (
            "an SDES without end",
            joined(&[&report, &[0x81, 202, 0, 2, 0, 0, 0, 1, 1, 2, 3, 4]]),
            [false, false],
        ),
        (
            "an SDES that is too short",
            joined(&[&report, &[0x82, 202, 0, 2, 0, 0, 0, 1, 1, 1, 3, 0]]),
            [false, false],
        ),
        (
            "a BYE whose reason is too long",
            joined(&[&report, &[0x80, 203, 0, 1, 4, 2, 3, 4]]),
            [false, false],
        ),
        ("an empty BYE", joined(&[&report, &[0x80, 203, 0, 0]]), [true, true]),
    ] {
        let seen = all.map(|rule| Compound::parse(&datagram, rule).is_ok());
        assert_eq!(seen, fine, "{what}");
    }
}

#[test]
fn packets_that_do_not_fit_are_not_written() {
    let long = [b'x'; 256];
    let mut out = [0; 60];
    let mut writer = CompoundWriter::new(&mut out);
    assert!(writer.receiver_report(Ssrc(1), &[]));
    assert!(!writer.sender_report(&INFO, &[BLOCK; 2]));
    assert!(!writer.receiver_report(Ssrc(1), &[BLOCK; 32]));
    assert!(!writer.bye(&[Ssrc(1); 32], None));
    assert!(!writer.bye(&[], Some(&long)));
    assert!(!writer.sdes(&[(Ssrc(1), &[Item { kind: ItemKind::Note, text: &long }])]));
    assert!(!writer.sdes(&[(Ssrc(1), &[Item { kind: ItemKind::Other(0), text: b"" }])]));
    assert!(!writer.nack(Ssrc(1), Ssrc(2), []));
    assert!(!writer.fir(Ssrc(1), &[]));
    assert!(!writer.app(&App { subtype: 0, ssrc: Ssrc(1), name: *b"name", data: b"abc" }));
    assert!(!writer.app(&App { subtype: 32, ssrc: Ssrc(1), name: *b"name", data: b"" }));
    assert!(writer.bye(&[Ssrc(1)], None));
    assert_eq!(writer.finish(), 16);
    assert_eq!(Compound::parse(&out[..16], Rule::Compound).unwrap().packets().count(), 2);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 198u8..208) {
        if let [first, second, ..] = &mut bytes[..] {
            (*first, *second) = (*first & 0x3f | 0x80, kind);
        }
        if let Ok(compound) = Compound::parse(&bytes, Rule::ReducedSize) {
            prop_assert!(compound.packets().count() > 0);
        }
    }

    #[test]
    fn missing_packets_are_told_as_they_are(first: u16, steps in prop::collection::vec(1u16..40, 0..100)) {
        let missing = steps.iter().scan(Sequence(first), |at, step| {
            let this = *at;
            *at = at.add(*step);
            Some(this)
        });
        let missing: Vec<_> = missing.chain([Sequence(first).add(steps.iter().sum())]).collect();
        let bytes = written(|out| out.nack(Ssrc(1), Ssrc(2), missing.iter().copied()));
        let RtcpPacket::Nack(nack) = only(&bytes) else { panic!("a NACK") };
        prop_assert_eq!(nack.sequences().collect::<Vec<_>>(), missing);
    }
}
