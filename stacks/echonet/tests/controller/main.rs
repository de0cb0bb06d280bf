//! A controller with nodes that the test simulates, datagram by datagram.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod bench;
mod bounds;
#[path = "../common/mod.rs"]
mod common;
mod nodes;
mod requests;
mod splitting;
mod tcp;
