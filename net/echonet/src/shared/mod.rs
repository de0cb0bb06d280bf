//! Shared by the blocking and the Tokio interface: an engine behind one lock, and the wakers of waiting
//! calls.

mod calls;
mod feed;
mod hub;
mod interface;
mod waits;

pub(crate) use feed::Feed;
pub(crate) use hub::{Driver, Hub};
pub(crate) use interface::interface;
