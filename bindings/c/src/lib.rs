//! WebRTC data channels for C: the functions declared in `include/netdyno_rtc.h`, on top of [`netdyno_rtc`].
//!
//! | does | does not |
//! |---|---|
//! | offer two interfaces: a blocking one (`endpoint.rs`, `peer.rs`, `channel.rs`) and one for event loops (`reactor.rs`, `connection.rs`) | implement data channels |
//! | check arguments, and turn panics into errors | detect handles that were already freed |
//! | document ownership and thread safety of each function: cbindgen generates the header from here | guarantee a permanent ABI: an ABI is stable within a SONAME, to which symbols may be added |
//!
//! Every function is safe Rust: a handle arrives as an optional reference, and a result pointer as an
//! optional reference to uninitialised memory. Only memory described by an address and a length, and texts
//! that are given back, need `unsafe`: see `memory.rs`.
#![allow(non_camel_case_types)]

mod channel;
mod connection;
mod endpoint;
mod error;
mod memory;
mod options;
mod peer;
mod reactor;
mod report;
mod stats;
#[cfg(test)]
mod tests;

pub use channel::*;
pub use connection::*;
pub use endpoint::*;
pub use error::*;
pub use memory::*;
pub use options::*;
pub use peer::*;
pub use reactor::*;
pub use report::*;
pub use stats::*;
