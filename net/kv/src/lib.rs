//! A Redis-compatible server, as a library and as a program.

pub mod aof;
mod client;
mod clients;
mod clock;
mod error;
mod limits;
mod refusals;
mod server;
mod settings;
mod shared;
mod worker;

pub use aof::{AofSettings, Fsync, Replayed};
pub use error::{AofError, RunError, StartError};
pub use limits::Limits;
pub use netdyno_io::tcp::Backend;
pub use netdyno_kv_core as core;
pub use server::{Server, Stopper};
pub use settings::Builder;
