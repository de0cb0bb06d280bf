//! Frames: parsed without a copy, written into the caller's buffer, extracted from a stream.

mod properties;
mod read;
mod stream;
mod write;

pub use properties::{Properties, PropertiesIter, Property};
pub use read::Frame;
pub use stream::Messages;
pub use write::{FrameWriter, Header};
