//! RESP2, RESP3 and inline commands, the protocol of Redis, as a codec without I/O.
#![forbid(unsafe_code)]

mod double;
mod reply;

pub use double::write_double;
pub use reply::{Later, Reply};

/// Which of the two protocols a connection speaks. It begins with the second; `HELLO 3` changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Protocol {
    /// What every client speaks.
    #[default]
    Resp2,
    /// Maps, sets, doubles, booleans, one null, and messages that nobody asked for.
    Resp3,
}
