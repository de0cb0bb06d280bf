//! ECHONET Lite: controllers and devices over UDP and the optional TCP, and a command-line tool.
//!
//! | does | does not |
//! |---|---|
//! | discover nodes on chosen interfaces, over IPv4 and IPv6; send requests, one at a time to each node, to many nodes at once | routes beyond the link |
//! | deliver notifications as a stream | interpret values: the core's tables do |
//! | be a node, or thousands of them in one process | keep values over a restart |
//! | answer requests over TCP ([`Settings::tcp`]), send requests over TCP ([`NodeSettings::tcp`](core::NodeSettings::tcp)) | multicast over TCP: searches and announcements are datagrams |
//!
//! One engine has three interfaces:
//! - [`Controller`] and [`Home`]: the application calls `poll` or blocking calls. One thread, no locks.
//! - [`blocking`]: handles for any number of threads, with blocking calls.
//! - `tokio` (feature `tokio`): the same types with async methods.
#![forbid(unsafe_code)]

pub mod blocking;
mod controller;
mod engine;
mod error;
mod home;
mod limits;
mod links;
mod on_link;
mod settings;
mod shared;
mod streams;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use controller::Controller;
pub use error::{CallError, Error};
pub use home::{Home, HomeEvent, Spread};
pub use netdyno_echonet_core as core;
pub use netdyno_io::{Interface, Waker};
pub use settings::{Family, Settings, TcpLimits};
