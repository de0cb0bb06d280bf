//! The workload of `netdyno dummy`. It is embedded for the self-test and for tests of other crates.

use crate::Workload;

/// The manifest, as TOML.
pub const WORKLOAD: &str = include_str!("dummy.toml");

/// The embedded workload.
pub fn workload() -> Workload {
    Workload::parse(std::path::Path::new("dummy.toml"), WORKLOAD)
        .expect("the built-in manifest is valid: a test parses it")
}
