//! A Redis-compatible server: a program and the library it is built from.
//!
//! | does | does not |
//! |---|---|
//! | serve any number of clients in an event loop: read, execute, make durable, then reply | clusters |
//! | TLS 1.2 and 1.3, optionally with client certificates (Cargo feature `tls`) | reload certificates without a restart |
//! | use several threads for I/O and parsing; commands execute one at a time, so each is atomic | execute commands in parallel |
//! | an append-only file with tested guarantees (see [`aof`]); snapshots in Redis' format (see [`snapshots`]) | streams, including those in snapshots |
//! | replicate a Redis server and serve replicas (see [`replica`]) | chained replication |
//! | custom commands; custom storage by a trait ([`storage`]) | scripts, modules |
//! | limits on everything that a client can make the server hold ([`Limits`]); fair scheduling of clients | limit connections per source address |
//! | maxclients, protected mode, passwords and ACL users, output limits and idle timeouts, as in Redis | change threads, files and limits of the server by CONFIG SET |
//!
//! `netdyno-kv-core` ([`core`]) implements commands, `netdyno-resp` the protocol, `netdyno-io` the sockets.
//! This crate connects them.
//!
//! ```
//! use netdyno_kv::Server;
//! use netdyno_kv::core::{Command, Flags, Group, Keys};
//! use std::io::{Read, Write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let double = Command::new("double", 2, Flags::READ_ONLY, Keys::single(), Group::String, |context, args| {
//!     let text = context.string(args[1])?.unwrap_or_default().repeat(2);
//!     context.reply().bulk(&text);
//!     Ok(())
//! });
//! let server = Server::builder().bind(([127, 0, 0, 1], 0)).command(double).start()?;
//!
//! let mut client = std::net::TcpStream::connect(server.addresses()[0])?;
//! client.write_all(b"SET word tom\r\nDOUBLE word\r\n")?;
//! let mut answers = [0; 17];
//! client.read_exact(&mut answers)?;
//! assert_eq!(&answers, b"+OK\r\n$6\r\ntomtom\r\n");
//! server.stop()?;
//! # Ok(())
//! # }
//! ```
//!
//! An iteration of a thread: wait for events; with the lock on the engine, execute at most 1,024 commands or 256
//! KiB of replies per client and leave the rest for the next iteration; make all changes durable with one commit;
//! then send the replies. A client with more than 1 MiB of unread replies is not read from until it catches
//! up.

pub mod aof;
mod client;
mod clients;
mod clock;
mod departures;
mod entropy;
mod error;
mod feed;
mod files;
mod journal;
mod limits;
mod refusals;
pub mod replica;
mod server;
mod settings;
mod shared;
pub mod snapshots;
pub mod storage;
#[cfg(feature = "tls")]
mod tls;
mod usage;
mod wire;
mod worker;

pub use aof::{AofSettings, Fsync};
pub use error::{AofError, RunError, SnapshotError, StartError};
pub use limits::Limits;
pub use netdyno_io::tcp::Backend;
pub use netdyno_kv_core as core;
pub use server::{Server, Stopper};
pub use settings::Builder;
pub use snapshots::SnapshotSettings;
pub use storage::{Replayed, Storage};
#[cfg(feature = "tls")]
pub use tls::{AuthClients, ReplicaTlsSettings, TlsError, TlsSettings};
