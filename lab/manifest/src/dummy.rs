//! The workload of `netdyno dummy`, which is part of the program: the lab's self-test and the tests of other crates use it.

use crate::Workload;

/// The manifest, as TOML.
pub const WORKLOAD: &str = include_str!("dummy.toml");

/// The dummy's workload, which is part of the program.
#[must_use]
pub fn workload() -> Workload {
    Workload::parse(std::path::Path::new("dummy.toml"), WORKLOAD)
        .expect("the built-in manifest is valid: a test parses it")
}
