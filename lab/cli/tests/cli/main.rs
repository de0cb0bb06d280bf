//! The `netdyno` command from outside: runs of dummies, good and bad, and what the user sees of them.
#![allow(clippy::unwrap_used, missing_docs)]

mod action;
mod authors;
mod bench;
// The browser is that of another package's tests: a file without ties to it.
#[path = "../../../../net/mjpeg/tests/page/browser.rs"]
mod browser;
mod duels;
mod explain;
mod faults;
mod first_look;
mod inputs;
mod live;
mod machine;
mod pages;
mod partners;
mod replicate;
mod resolve;
mod runs;
mod serve;
mod usage;
mod widths;
