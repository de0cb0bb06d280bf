//! The `netdyno` command from outside: runs of dummies, good and bad, and what the user sees of them.
#![allow(clippy::unwrap_used, missing_docs)]

mod bench;
mod duels;
mod faults;
mod first_look;
mod inputs;
mod machine;
mod pages;
mod partners;
mod runs;
mod usage;
