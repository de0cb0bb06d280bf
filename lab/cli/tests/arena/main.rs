//! The arena from outside: the real binary, real namespaces, and nothing left however a trial ends.
//!
//! A test that needs what this machine does not permit prints `skipped: needs ...`; with `NETDYNO_REQUIRE=all` it fails.
#![allow(clippy::unwrap_used, missing_docs)]

mod contenders;
mod endings;
mod freezing;
mod network;
mod privilege;
mod trial;
