//! Packets and chunks as they stand on the wire: one chunk a file, each parsed into a view that cannot be malformed.
//!
//! Reading never allocates: views borrow from the packet, and lists are iterators that are bounded by it. Writing
//! never allocates either. Of the writers only [`Data::write`] and [`PacketWriter::chunk`] want to know beforehand that
//! there is room; all others say whether the chunk fitted.

mod abort;
mod bytes;
mod chunk;
mod cookie;
mod cursor;
mod data;
mod error;
mod forward_tsn;
mod heartbeat;
mod init;
pub(crate) mod packet;
mod pad;
mod parameter;
mod reconfig;
mod sack;
mod shutdown;
#[cfg(test)]
mod testing;

pub use abort::Abort;
pub use chunk::Chunk;
pub use cookie::{CookieAck, CookieEcho};
pub use data::{Data, Order};
pub use error::{Cause, Causes, OperationError};
pub use forward_tsn::{ForwardTsn, Skipped, SkippedStreams};
pub use heartbeat::Heartbeat;
pub use init::{Extensions, Init, Unrecognized};
pub use packet::{
    CHUNK_HEADER_BYTES, Chunks, HEADER_BYTES, Header, Malformed, PacketWriter, RawChunk, checksum_holds,
};
pub use pad::Pad;
pub use parameter::{Parameter, Parameters};
pub use reconfig::{ReConfig, ReConfigItem, ReConfigResult, ReConfigSeq, Streams};
pub use sack::{GapBlocks, Sack};
pub use shutdown::{Shutdown, ShutdownAck, ShutdownComplete};

/// T of ABORT and SHUTDOWN COMPLETE: the verification tag of the packet is that of the packet that it answers, for want
/// of an association (RFC 9260 section 8.5.1).
const TAG_REFLECTED: u8 = 1;
