//! A controller against nodes that the test plays itself, datagram by datagram.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod bench;
mod bounds;
#[path = "../common/mod.rs"]
mod common;
mod nodes;
mod requests;
mod splitting;
mod tcp;
