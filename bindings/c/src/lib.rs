//! WebRTC data channels for C: what `include/netdyno_rtc.h` declares, on the faces of [`netdyno_rtc`].
//!
//! | does | does not |
//! |---|---|
//! | two faces: calls that wait (`endpoint.rs`, `peer.rs`, `channel.rs`), and an event loop's (`reactor.rs`, `connection.rs`) | anything of its own about data channels |
//! | checks what it is given, and turns panics into an error | find out whether a handle was freed before |
//! | documents ownership and threads at each function: cbindgen writes the header from here | keep one ABI for ever: that of a SONAME, which only grows |
//!
//! Every function is safe Rust: a handle comes as a reference that may be absent, a place for a result as one that may be absent and
//! holds nothing yet. What needs `unsafe` is memory that C describes by an address and a length, and texts that come back to be freed: `border.rs`.
#![allow(non_camel_case_types)]

mod border;
mod channel;
mod connection;
mod endpoint;
mod error;
mod options;
mod peer;
mod reactor;
mod report;
mod stats;

pub use border::*;
pub use channel::*;
pub use connection::*;
pub use endpoint::*;
pub use error::*;
pub use options::*;
pub use peer::*;
pub use reactor::*;
pub use report::*;
pub use stats::*;
