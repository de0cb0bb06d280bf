//! The `netdyno` command.
fn main() {}
