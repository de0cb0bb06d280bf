//! Parses arbitrary bytes as an SCTP packet: no panic, and accepted chunks survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_sctp::Tsn;
use netdyno_sctp::wire::{
    Abort, Chunk, ForwardTsn, HEADER_BYTES, Header, Init, OperationError, PacketWriter, RawChunk, ReConfig,
    Sack, Skipped, Unrecognized, checksum_holds,
};

fuzz_target!(|packet: &[u8]| {
    let holds = checksum_holds(packet, false);
    assert!(!holds || checksum_holds(packet, true));
    let Ok((header, chunks)) = Header::parse(packet) else { return };
    for raw in chunks.map_while(Result::ok) {
        assert!(raw.value.len() < packet.len());
        if let Ok(chunk) = Chunk::parse(&raw) {
            check(header, &chunk);
        }
    }
});

/// Checks the round trip of a chunk.
fn check(header: Header, chunk: &Chunk<'_>) {
    let mut out = vec![0xff; 65_536];
    let mut packet = PacketWriter::new(&mut out, header);
    let wrote = write(chunk, &mut packet);
    assert_eq!(wrote, !packet.is_empty());
    let length = packet.finish(false);
    let packet = &out[..length];
    assert!(checksum_holds(packet, false));

    let (read_header, mut chunks) = Header::parse(packet).expect("a header was written");
    assert_eq!(read_header, header);
    if !wrote {
        assert_eq!(length, HEADER_BYTES);
        assert!(is_empty_list(chunk), "{chunk:?} fits");
        return;
    }
    let raw = chunks.next().expect("a chunk was written").expect("it is whole");
    assert_eq!(chunks.next(), None);
    let read = Chunk::parse(&raw).expect("a written chunk is valid");
    assert_eq!(without_unrecognized(&read), without_unrecognized(chunk));
}

/// An ERROR without causes is accepted, but never written.
fn is_empty_list(chunk: &Chunk<'_>) -> bool {
    matches!(chunk, Chunk::Error(error) if { error.causes }.next().is_none())
}

/// Unknown parameters of INIT and INIT ACK are not written.
fn without_unrecognized<'a>(chunk: &Chunk<'a>) -> Chunk<'a> {
    let unrecognized = Unrecognized::default();
    match *chunk {
        Chunk::Init(init) => Chunk::Init(Init { unrecognized, ..init }),
        Chunk::InitAck(init) => Chunk::InitAck(Init { unrecognized, ..init }),
        other => other,
    }
}

fn write(chunk: &Chunk<'_>, packet: &mut PacketWriter<'_>) -> bool {
    match chunk {
        Chunk::Data(data) => {
            data.write(packet);
            true
        }
        Chunk::Init(init) => init.write(packet),
        Chunk::InitAck(init) => init.write_ack(packet, init.unrecognized),
        Chunk::Sack(sack) => {
            let duplicates = vec![Tsn(0); sack.duplicates];
            Sack::write(packet, sack.cumulative_tsn, sack.window_bytes, sack.gaps, &duplicates)
        }
        Chunk::Heartbeat(heartbeat) => heartbeat.write(packet),
        Chunk::HeartbeatAck(heartbeat) => heartbeat.write_ack(packet),
        Chunk::Abort(abort) => Abort::write(packet, abort.tag_reflected, abort.causes),
        Chunk::Shutdown(shutdown) => shutdown.write(packet),
        Chunk::ShutdownAck(ack) => ack.write(packet),
        Chunk::Error(error) => {
            let texts: Vec<String> = { error.causes }.map(|cause| cause.to_string()).collect();
            assert!(texts.iter().all(|text| !text.contains('\n')));
            OperationError::write(packet, error.causes)
        }
        Chunk::CookieEcho(echo) => echo.write(packet),
        Chunk::CookieAck(ack) => ack.write(packet),
        Chunk::ShutdownComplete(complete) => complete.write(packet),
        Chunk::ReConfig(re_config) => ReConfig::write(packet, &re_config.items().collect::<Vec<_>>()),
        Chunk::Pad(pad) => pad.write(packet),
        Chunk::ForwardTsn(forward) => write_forward_tsn(forward, packet),
        Chunk::Unknown { kind, raw } => {
            let RawChunk { flags, value, .. } = *raw;
            packet.chunk(*kind, flags, value.len(), |place| place.copy_from_slice(value));
            true
        }
    }
}

fn write_forward_tsn(forward: &ForwardTsn<'_>, packet: &mut PacketWriter<'_>) -> bool {
    let (tsn, skipped) = (forward.new_cumulative_tsn, forward.skipped);
    if skipped.is_interleaved() {
        let mids = skipped.filter_map(|skipped| match skipped {
            Skipped::Mid(stream, mid, unordered) => Some((stream, mid, unordered)),
            Skipped::Ssn(..) => None,
        });
        ForwardTsn::write_interleaved(packet, tsn, mids)
    } else {
        let ssns = skipped.filter_map(|skipped| match skipped {
            Skipped::Ssn(stream, ssn) => Some((stream, ssn)),
            Skipped::Mid(..) => None,
        });
        ForwardTsn::write(packet, tsn, ssns)
    }
}
