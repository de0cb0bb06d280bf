//! Parses arbitrary bytes as a frame: accepted frames survive a round trip, and truncated frames are rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_echonet_core::{Frame, FrameWriter, Header};

fuzz_target!(|input: (bool, &[u8])| {
    let (ours, bytes) = input;
    let mut bytes = bytes.to_vec();
    if ours && bytes.len() > 1 {
        (bytes[0], bytes[1]) = (0x10, 0x81);
    }
    let Ok(frame) = Frame::parse(&bytes) else { return };
    let mut out = vec![0; bytes.len()];
    let header = Header { tid: frame.tid, seoj: frame.seoj, deoj: frame.deoj, esv: frame.esv };
    let mut writer = FrameWriter::new(&mut out, header).expect("as much room as it had");
    for property in frame.properties {
        writer.property(property.epc, property.edt).expect("as much room as it had");
    }
    if frame.esv.has_get_list() {
        writer.get_list().expect("a SetGet has a second list");
        for property in frame.get {
            writer.property(property.epc, property.edt).expect("as much room as it had");
        }
    }
    let length = writer.finish().expect("a whole frame");
    assert_eq!(length + frame.trailing_bytes, bytes.len());
    assert_eq!(out[..length], bytes[..length]);
    assert!((0..length).all(|end| Frame::parse(&bytes[..end]).is_err()), "a truncated frame is accepted");
});
