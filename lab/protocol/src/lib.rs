//! The lab's side of the contender protocol (`contenders/PROTOCOL.md`).
//!
//! | does | does not |
//! |---|---|
//! | parse and write every message, with limits | read or write a pipe |
//! | hold each role to the order of the conversation | start, meter or end a process |
//! | say which answer is overdue, and since when | read a clock: `now` comes in |
//!
//! [`Session`] is the conversation with one role; the engine's `trial` module drives one for each role.

pub mod limits;
mod message;
mod session;

#[cfg(test)]
mod session_tests;

pub use message::{
    ContenderMessage, Counters, Implementation, LabMessage, PROTOCOL_VERSION, Phase, Setup, TrialResult,
    Verified, parse_contender_line, schemas,
};
pub use session::{Event, Fault, Session, State};
