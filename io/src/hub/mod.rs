//! State behind one lock, run by threads or a Tokio task, on which handles in other threads and tasks act
//! directly.
//!
//! A handle locks the [`Hub`], acts, sends, and releases it; that wakes the driver only if the driver would
//! otherwise wake too late. A handle that must wait leaves a waker in [`Waiters`] and blocks its thread
//! ([`block`]) or its task ([`ready`]). [`Launch`] starts the [`Driver`].

mod driver;
mod state;
mod waiters;

pub use driver::{Drive, Driver, Kick, Launch, Thread};
pub use state::{Guard, Hub, HubState};
pub use waiters::{Wait, Waiters, block, block_forever, ready, thread_waker};
