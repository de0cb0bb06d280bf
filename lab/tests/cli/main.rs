//! The `netdyno` command from outside: runs of dummies, good and bad, and what the user sees of them.
#![allow(clippy::unwrap_used, missing_docs)]

mod authors;
mod bench;
mod duels;
mod faults;
mod first_look;
mod inputs;
mod machine;
mod partners;
mod runs;
mod usage;
