//! The lab's side of the contender protocol (`contenders/PROTOCOL.md`).
//!
//! | does | does not |
//! |---|---|
//! | parse and write every message, with limits | read or write a pipe |
//! | check the order of messages of each role | start, meter or end a process |
//! | report overdue replies | read a clock: `now` is an argument |
//!
//! [`Session`] is the conversation with one role. The engine's `trial` module drives one per role.

pub mod limits;
mod message;
mod session;

#[cfg(test)]
mod session_tests;

#[cfg(feature = "schema")]
pub use message::schemas;
pub use message::{
    ContenderMessage, Counters, Implementation, LabMessage, PROTOCOL_VERSION, Phase, Setup, TrialResult,
    Verified, parse_contender_line,
};
pub use session::{Event, Fault, Session, State};
