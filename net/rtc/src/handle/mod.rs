//! Handles that the blocking and the Tokio interface share. All handles of an endpoint act directly on one
//! engine behind one lock; a driver runs it. A call that must wait leaves a waker.

mod channel;
mod hub;
mod interface;
mod peer;
mod peers;
mod shared_peer;

pub use channel::Channel;
pub(crate) use hub::{Driver, Hub};
pub(crate) use interface::interface;
pub use peer::Peer;
