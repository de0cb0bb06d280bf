//! ECHONET Lite: controllers and devices over UDP and the optional TCP, and a command-line tool.
//!
//! | does | does not |
//! |---|---|
//! | find nodes on chosen interfaces, IPv4 and IPv6; ask them, one request at a time to each, many nodes at once | routes beyond the link |
//! | tell what nodes tell by themselves, as a stream | decide what a value means: the core's tables do |
//! | be a node, or thousands of them in one process | keep their values over a restart |
//! | answer those who connect by TCP ([`Settings::tcp`]), ask nodes by it ([`NodeSettings::tcp`](core::NodeSettings::tcp)) | tell all by TCP: searches and announcements are datagrams |
//!
//! There are three faces of one engine:
//! - [`Controller`] and [`Home`]: you call `poll`, or a call that waits. One thread, no locks.
//! - [`blocking`]: handles for any number of threads; calls wait.
//! - `tokio` (the feature `tokio`): the same names, awaited.
#![forbid(unsafe_code)]

pub mod blocking;
mod controller;
mod engine;
mod error;
mod face;
mod home;
mod limits;
mod links;
mod settings;
mod streams;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use controller::Controller;
pub use error::{CallError, Error};
pub use home::{Home, HomeEvent, Spread};
pub use netdyno_echonet_core as core;
pub use netdyno_io::{Interface, Waker};
pub use settings::{Family, Settings, TcpLimits};
