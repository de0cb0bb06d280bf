//! What the blocking and the Tokio face share: an engine behind one lock, and wakers of those who wait.

mod clock;
pub(crate) mod controller;
pub(crate) mod device;
mod driver;
mod feed;
mod receiver;
mod wait;

pub(crate) use driver::Driver;
#[cfg(feature = "tokio")]
pub(crate) use driver::{EndOnDrop, drain};
pub(crate) use feed::Feed;
pub(crate) use receiver::Receiver;
pub(crate) use wait::block;
