//! The wire format of packets and chunks: one chunk per file, each parsed into a view that is valid by
//! construction.
//!
//! Neither reading nor writing allocates. Views borrow from the packet, and lists are iterators bounded by
//! it. [`Data::write`] and [`PacketWriter::chunk`] require that there is space; all other writers return
//! whether the chunk fitted.

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

/// T of ABORT and SHUTDOWN COMPLETE: the packet reflects the verification tag of the packet that it answers,
/// because there is no association (RFC 9260 section 8.5.1).
const TAG_REFLECTED: u8 = 1;
