//! Shared by the blocking and the Tokio interface: an engine behind one lock, and the wakers of waiting
//! calls.

mod calls;
mod clock;
mod driver;
mod feed;
mod hub;
mod wait;
mod waits;

pub(crate) use driver::Driver;
#[cfg(feature = "tokio")]
pub(crate) use driver::EndOnDrop;
pub(crate) use feed::Feed;
pub(crate) use hub::Hub;
#[cfg(feature = "tokio")]
pub(crate) use hub::Kick;
pub(crate) use wait::block;
