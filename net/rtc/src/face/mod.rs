//! What the blocking and the Tokio face share: an engine behind one lock, turned by a driver. A call of a handle
//! acts on the engine directly; whoever must wait leaves a waker.

mod channel;
mod hub;
mod peer;
mod peer_inner;
mod peers;
mod waiters;

pub use channel::Channel;
pub(crate) use hub::{EndOnDrop, Hub};
pub use peer::Peer;
#[cfg(feature = "tokio")]
pub(crate) use waiters::ready;
pub(crate) use waiters::{Wait, block};
