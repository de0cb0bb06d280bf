//! A node that others read, write and listen to.

mod engine;
mod event;

pub use engine::Device;
pub use event::{Decision, DeviceEvent, DeviceStats, SetError, WriteId};
