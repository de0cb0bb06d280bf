//! The native half of the Python package `netdyno_rtc`: netdyno-rtc's data channels, for an event loop.
//!
//! | does | does not |
//! |---|---|
//! | drive one endpoint a loop, by a thread that never takes the interpreter's lock | call Python: a loop is told by a byte in a pipe, and asks |
//! | take messages without a copy where they are `bytes` or `str`, and give them in batches | futures, events, names of states: that is the Python half (`python/netdyno_rtc/`) |
//! | hold the peer back while nobody takes its messages | queues without end |
//!
//! A program that waits in `epoll` and a thread that waits in `epoll` need one thing between them: something readable. A pipe is that on every
//! loop that has `add_reader`, with one byte for all that happened in a turn. Futures of Rust, bridged to those of asyncio, would need a
//! runtime of their own, and a wake-up through the interpreter's lock for each.
#![forbid(unsafe_code)]

mod bell;
mod channel;
mod driver;
mod ends;
mod errors;
mod item;
mod limits;
mod peer;
mod report;
mod shared;

/// What `netdyno_rtc` is made of; its types stand in `_native.pyi`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::channel::Channel;
    #[pymodule_export]
    use crate::driver::Driver;
    #[pymodule_export]
    use crate::errors::{InvalidStateError, OperationError};
    #[pymodule_export]
    use crate::peer::Peer;
}
