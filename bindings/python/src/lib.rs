//! The native half of the Python package `netdyno_rtc`: data channels for an event loop.
//!
//! | does | does not |
//! |---|---|
//! | drive one endpoint for each event loop, on a thread that never takes the interpreter lock | call Python: a byte in a pipe makes the event loop collect events |
//! | take `bytes` and `str` messages without copying, and return messages in batches | futures, event handlers and state names, which are in `python/netdyno_rtc/` |
//! | stop the peer while messages are unread | unbounded queues |
//!
//! An event loop and a thread that both wait in `epoll` need something readable between them. A pipe works
//! with every loop that has `add_reader`, with one byte for all events of a turn. Bridging Rust futures to
//! asyncio would need an additional runtime and a wake-up through the interpreter lock for each.
#![forbid(unsafe_code)]

mod channel;
mod connections;
mod driver;
mod errors;
mod events;
mod handle;
mod limits;
mod outgoing;
mod peer;
mod report;
mod shared;

/// The contents of the native module; `_native.pyi` has the types.
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
