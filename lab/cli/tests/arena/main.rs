//! The arena from outside: with the real binary and real namespaces.
//!
//! A test with missing privileges prints `skipped: needs ...`; with `NETDYNO_REQUIRE=all` it fails.
#![allow(clippy::unwrap_used, missing_docs)]

mod contenders;
mod endings;
mod freezing;
mod network;
mod privilege;
mod trial;
