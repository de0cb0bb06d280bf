//! SCTP packets as text, for the log.

use std::fmt::Write as _;

use netdyno_sctp::wire::{Data, Header, Order, RawChunk, Sack};

/// One line for a packet.
pub(super) fn describe(packet: &[u8]) -> String {
    let mut text = format!("{} bytes:", packet.len());
    match Header::parse(packet) {
        Ok((_, chunks)) => chunks.for_each(|chunk| match chunk {
            Ok(chunk) => describe_chunk(&chunk, &mut text),
            Err(malformed) => text += &format!(" [{malformed}]"),
        }),
        Err(malformed) => text += &format!(" {malformed}"),
    }
    text
}

fn describe_chunk(chunk: &RawChunk<'_>, text: &mut String) {
    let name = match chunk.kind {
        Data::KIND | Data::KIND_INTERLEAVED => return describe_data(chunk, text),
        Sack::KIND => return describe_sack(chunk, text),
        1 => "INIT",
        2 => "INIT-ACK",
        4 => "HEARTBEAT",
        5 => "HEARTBEAT-ACK",
        6 => "ABORT",
        7 => "SHUTDOWN",
        8 => "SHUTDOWN-ACK",
        9 => "ERROR",
        10 => "COOKIE-ECHO",
        11 => "COOKIE-ACK",
        14 => "SHUTDOWN-COMPLETE",
        130 => "RE-CONFIG",
        132 => "PAD",
        192 => "FORWARD-TSN",
        194 => "I-FORWARD-TSN",
        _ => "chunk",
    };
    let first: Vec<u8> = chunk.value.iter().take(24).copied().collect();
    let _ = write!(text, " {name}({}, {} bytes {first:02x?})", chunk.kind, chunk.value.len());
}

fn describe_data(chunk: &RawChunk<'_>, text: &mut String) {
    let Ok(data) = Data::parse(chunk) else {
        *text += " malformed DATA";
        return;
    };
    let order = match data.order {
        Order::Ssn(ssn) => format!("ssn {}", ssn.0),
        Order::Mid(mid, fsn) => format!("mid {} fsn {}", mid.0, fsn.0),
    };
    let flag = |set: bool, letter: &'static str| if set { letter } else { "" };
    let flags =
        [flag(data.begin, "B"), flag(data.end, "E"), flag(data.unordered, "U"), flag(data.immediate, "I")];
    let (tsn, stream, flags) = (data.tsn.0, data.stream.0, flags.concat());
    let _ = write!(text, " DATA(tsn {tsn}, stream {stream}, {order}, {flags}, {} bytes)", data.payload.len());
}

fn describe_sack(chunk: &RawChunk<'_>, text: &mut String) {
    let Ok(sack) = Sack::parse(chunk) else {
        *text += " malformed SACK";
        return;
    };
    let gaps: Vec<(u16, u16)> = sack.gaps.collect();
    let (tsn, window, duplicates) = (sack.cumulative_tsn.0, sack.window_bytes, sack.duplicates);
    let _ = write!(text, " SACK(tsn {tsn}, window {window}, gaps {gaps:?}, duplicates {duplicates})");
}
