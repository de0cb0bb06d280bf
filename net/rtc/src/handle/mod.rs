//! Handles that the blocking and the Tokio interface share. All handles of an endpoint act directly on one
//! engine behind one lock; a driver runs it. A call that must wait leaves a waker.

mod channel;
mod hub;
mod interface;
mod peer;
mod peers;
mod shared_peer;
mod waiters;

pub use channel::Channel;
pub(crate) use hub::{EndOnDrop, Hub};
pub(crate) use interface::interface;
pub use peer::Peer;
#[cfg(feature = "tokio")]
pub(crate) use waiters::ready;
pub(crate) use waiters::{Wait, block, block_forever};
