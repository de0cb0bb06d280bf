//! Refused Gets that are repeated in parts.

use netdyno_echonet_core::{Epc, Esv, Frame, FrameWriter, Header};

use crate::bench::{Bench, format_events};
use crate::common::unicast;

/// Simulates a device whose answers to Get come from the closure; returns the requests and the result.
fn split(epcs: &[u8], mut device: impl FnMut(&[Epc]) -> Vec<(Epc, Vec<u8>)>) -> (Vec<usize>, String, usize) {
    let mut bench = Bench::new(|_| {});
    let (mut asked, mut last) = (Vec::new(), String::new());
    // The second round uses what the first one learned.
    for round in 0..2 {
        bench.get(9, epcs);
        let before = asked.len();
        while let Some(transmit) = bench.controller.poll_transmit(bench.now, &mut bench.out) {
            let request = bench.out[..transmit.bytes].to_vec();
            let frame = Frame::parse(&request).unwrap();
            let wanted: Vec<Epc> = frame.properties.iter().map(|property| property.epc).collect();
            asked.push(wanted.len());
            let values = device(&wanted);
            let complete = values.iter().all(|(_, value)| !value.is_empty());
            let esv = if complete { Esv::GetRes } else { Esv::GetSna };
            let header = Header { tid: frame.tid, seoj: frame.deoj, deoj: frame.seoj, esv };
            let mut answer = [0; 1500];
            let mut writer = FrameWriter::new(&mut answer, header).unwrap();
            values.iter().for_each(|(epc, value)| writer.property(*epc, value).unwrap());
            let bytes = writer.finish().unwrap();
            bench.controller.handle(bench.now, &answer[..bytes], unicast(9), &mut bench.out);
        }
        let events = format_events(&mut bench);
        last = events.last().unwrap().clone();
        if round == 0 {
            asked.push(0);
        } else {
            return (asked.clone(), last, asked.len() - before);
        }
    }
    (asked, last, 0)
}

fn value_of(epc: Epc) -> Vec<u8> {
    vec![epc.0]
}

#[test]
fn a_refused_get_is_split_until_the_refused_property_is_known() {
    // It names the properties that it lacks: they are requested again, first together, then one by one.
    let knows = |wanted: &[Epc]| -> Vec<(Epc, Vec<u8>)> {
        let has = |epc: Epc| epc.0 != 0x85;
        wanted.iter().map(|epc| (*epc, if has(*epc) { value_of(*epc) } else { Vec::new() })).collect()
    };
    let codes: Vec<u8> = (0x80..0x8A).collect();
    let (asked, last, _) = split(&codes, knows);
    assert_eq!(asked, [10, 1, 0, 10, 1]);
    assert!(last.ends_with("| 85 | ") && last.matches('=').count() == 9, "{last}");
    // It refuses all because of one.
    let all_or_nothing = |wanted: &[Epc]| -> Vec<(Epc, Vec<u8>)> {
        let good = !wanted.contains(&Epc(0x85));
        wanted.iter().map(|epc| (*epc, if good { value_of(*epc) } else { Vec::new() })).collect()
    };
    let (asked, last, _) = split(&codes, all_or_nothing);
    assert_eq!(asked, [10, 5, 5, 3, 2, 1, 1, 1, 2, 0, 10, 5, 5, 3, 2, 1, 1, 1, 2]);
    assert!(last.ends_with("| 85 | ") && last.matches('=').count() == 9, "{last}");
    // It refuses more than ten: in the second round, no request has more.
    let ten = |wanted: &[Epc]| -> Vec<(Epc, Vec<u8>)> {
        let good = wanted.len() <= 10;
        wanted.iter().map(|epc| (*epc, if good { value_of(*epc) } else { Vec::new() })).collect()
    };
    let codes: Vec<u8> = (0x80..0x9C).collect();
    let (asked, last, _) = split(&codes, ten);
    assert_eq!(asked, [28, 14, 7, 7, 14, 7, 7, 0, 7, 7, 7, 7]);
    assert!(last.ends_with("|  | ") && last.matches('=').count() == 28, "{last}");
    // It refuses everything.
    let (asked, last, _) =
        split(&[0x80, 0x81, 0x82], |wanted| wanted.iter().map(|epc| (*epc, Vec::new())).collect());
    assert_eq!(asked[..5], [3, 2, 1, 1, 1]);
    assert!(last.ends_with("9  | 80 81 82 | "), "{last}");
    // It claims success and returns half.
    let (asked, _, _) = split(&codes, |wanted| {
        wanted.iter().take(wanted.len().div_ceil(2)).map(|epc| (*epc, value_of(*epc))).collect()
    });
    assert_eq!(asked[..6], [28, 14, 7, 3, 1, 0]);
}
