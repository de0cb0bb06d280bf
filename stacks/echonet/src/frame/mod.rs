//! Frames: read without a copy, written into the caller's buffer.

mod properties;
mod read;
mod write;

pub use properties::{Properties, PropertiesIter, Property};
pub use read::Frame;
pub use write::{FrameWriter, Header};
