//! The `netdyno` command from outside: runs of correct and faulty dummies.
#![allow(clippy::unwrap_used, missing_docs)]

mod action;
mod authors;
mod bench;
// The browser module of another package's tests, which has no dependencies on it.
#[path = "../../../../net/mjpeg/tests/page/browser.rs"]
mod browser;
mod duels;
mod evidence;
mod explain;
mod faults;
mod first_look;
mod inputs;
mod library;
mod live;
mod machine;
mod pages;
mod partners;
mod quick_start;
mod replicate;
mod resolve;
mod runs;
mod serve;
mod served;
mod usage;
mod widths;
