//! What the tests of the chunks share.

use super::{Header, PacketWriter, RawChunk};

pub(super) const HEADER: Header =
    Header { source_port: 5000, destination_port: 5000, verification_tag: 0xdead_beef };

/// The chunks that `write` writes, without the common header.
pub(super) fn written(write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
    let mut out = vec![0xaa; 65_536];
    let mut packet = PacketWriter::new(&mut out, HEADER);
    write(&mut packet);
    let length = packet.finish(true);
    out[super::HEADER_BYTES..length].to_vec()
}

/// The only chunk in `bytes`, which begin with its header.
pub(super) fn only_chunk(bytes: &[u8]) -> RawChunk<'_> {
    let mut chunks = super::packet::Chunks::new(bytes);
    let chunk = chunks.next().unwrap().unwrap();
    assert_eq!(chunks.next(), None);
    chunk
}
