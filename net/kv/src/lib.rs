//! A Redis-compatible server: a program, and the library that it is made from.
//!
//! | does | does not |
//! |---|---|
//! | serve any number of clients in turns: all that arrived is read, executed, written down, then answered | cluster |
//! | TLS 1.2 and 1.3, with certificates of clients where wanted (Cargo feature `tls`) | take new certificates without a restart |
//! | several threads that read and write; commands are executed by one at a time, so that each is atomic | execute commands of several threads at once |
//! | an append-only file with promises that are tested: see [`aof`]; snapshots that Redis reads: see [`snapshots`] | streams, also in snapshots |
//! | follow a Redis as its replica, and have replicas: see [`replica`] | have replicas of replicas |
//! | commands of your own, in ten lines; storage of your own, by a trait ([`storage`]) | scripts, modules |
//! | bounds on all that a client can make it hold ([`Limits`]), and the next client's turn whatever the others send | bound how many clients come from one address |
//! | maxclients, protected mode, passwords and users, output limits, idle timeouts, as Redis has them | change the server's own parameters by CONFIG SET: what the commands need, yes; threads, file and bounds are set at the start |
//!
//! What a command does is `netdyno-kv-core`'s part ([`core`]), how it is spelled `netdyno-resp`'s, sockets are
//! `netdyno-io`'s. This is what joins them.
//!
//! ```
//! use netdyno_kv::Server;
//! use netdyno_kv::core::{Command, Flags, Group, Keys};
//! use std::io::{Read, Write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let double = Command::new("double", 2, Flags::READ_ONLY, Keys::one(), Group::String, |context, args| {
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
//! A turn of a thread: wait until something arrives; with the lock on the engine execute all that did, at most 1,024
//! commands or 256 KiB of answers a client, the rest in the next turn; have what was changed kept, once for
//! all; then send. A client that does not take its answers is not read from any
//! more once a mebibyte of them waits.

pub mod aof;
mod client;
mod clients;
mod clock;
mod error;
mod feed;
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
pub use tls::{AuthClients, TlsError, TlsSettings};
